//! Building VEX code: a block under construction, and the few expressions that
//! instrumentation needs. Expressions are flat, as VEX wants them.

use core::ffi::{CStr, c_void};
use core::mem::offset_of;

use crate::vg::{self, IRExpr, IRSB, IRStmt, IRTemp, IRType};

/// Where the general registers lie in the guest state: sixteen in a row.
pub const REGISTERS: usize = offset_of!(vg::VexGuestAMD64State, guest_RAX);
/// Numbers of registers, as the processor counts them.
pub const RAX: usize = 0;
pub const RDX: usize = 2;
pub const RSP: usize = 4;
pub const RBP: usize = 5;

/// The general register that lies at `offset`.
pub fn register_at(offset: i32) -> Option<usize> {
    let distance = (offset as usize).checked_sub(REGISTERS)?;
    (distance % 8 == 0 && distance < 128).then_some(distance / 8)
}

pub fn offset_of_register(register: usize) -> i32 {
    (REGISTERS + 8 * register) as i32
}

/// Behind the guest state Valgrind has room for as much that is the tool's:
/// what general registers held before they were restored lies there.
pub const RESTORED: usize = size_of::<vg::VexGuestAMD64State>() + REGISTERS;

/// A block under construction.
pub struct Code(pub *mut IRSB);

/// What a helper of ours is called with.
pub type Arguments<'a> = &'a [*mut IRExpr];

impl Code {
    pub fn add(&mut self, statement: *mut IRStmt) {
        // SAFETY: both are VEX's.
        unsafe { vg::addStmtToIRSB(self.0, statement) };
    }

    pub fn type_of(&self, expression: *const IRExpr) -> IRType {
        // SAFETY: both are VEX's.
        unsafe { vg::typeOfIRExpr((*self.0).tyenv, expression) }
    }

    /// The value of an expression in a temporary.
    pub fn value(&mut self, kind: IRType, expression: *mut IRExpr) -> *mut IRExpr {
        // SAFETY: VEX's own construction functions.
        unsafe {
            let temporary = vg::newIRTemp((*self.0).tyenv, kind);
            self.add(vg::IRStmt_WrTmp(temporary, expression));
            vg::IRExpr_RdTmp(temporary)
        }
    }

    pub fn binary(
        &mut self,
        operation: vg::IROp,
        a: *mut IRExpr,
        b: *mut IRExpr,
        kind: IRType,
    ) -> *mut IRExpr {
        // SAFETY: VEX's own construction function.
        let expression = unsafe { vg::IRExpr_Binop(operation, a, b) };
        self.value(kind, expression)
    }

    pub fn load(&mut self, kind: IRType, address: *mut IRExpr) -> *mut IRExpr {
        // SAFETY: VEX's own construction function.
        let expression = unsafe { vg::IRExpr_Load(vg::Iend_LE, kind, address) };
        self.value(kind, expression)
    }

    pub fn register(&mut self, register: usize) -> *mut IRExpr {
        // SAFETY: VEX's own construction function.
        let expression = unsafe { vg::IRExpr_Get(offset_of_register(register), vg::Ity_I64) };
        self.value(vg::Ity_I64, expression)
    }

    pub fn set_register(&mut self, register: usize, value: *mut IRExpr) {
        // SAFETY: VEX's own construction function.
        self.add(unsafe { vg::IRStmt_Put(offset_of_register(register), value) });
    }

    /// The block ends with a return to an address.
    pub fn return_to(&mut self, address: *mut IRExpr) {
        // SAFETY: the block is ours.
        unsafe {
            (*self.0).next = address;
            (*self.0).jumpkind = vg::Ijk_Ret;
        }
    }

    /// The word that a function of ours gives, which is given [`guest_state`]
    /// and reads general registers there.
    pub fn call_for_result(&mut self, helper: &Helper, arguments: [*mut IRExpr; 2]) -> *mut IRExpr {
        // SAFETY: VEX's own construction functions; the function takes two words.
        unsafe {
            let result = vg::newIRTemp((*self.0).tyenv, vg::Ity_I64);
            let list = vg::mkIRExprVec_2(arguments[0], arguments[1]);
            let function = helper.function as *mut c_void;
            let call = vg::unsafeIRDirty_1_N(result, 0, helper.name.as_ptr(), function, list);
            reads_registers(&mut *call);
            self.add(vg::IRStmt_Dirty(call));
            vg::IRExpr_RdTmp(result)
        }
    }

    /// Puts aside what a register holds.
    pub fn set_aside(&mut self, register: usize) {
        let old = self.register(register);
        // SAFETY: VEX's own construction function; the place is the tool's.
        self.add(unsafe { vg::IRStmt_Put((RESTORED + 8 * register) as i32, old) });
    }

    pub fn store(&mut self, address: *mut IRExpr, data: *mut IRExpr) {
        // SAFETY: VEX's own construction function.
        self.add(unsafe { vg::IRStmt_Store(vg::Iend_LE, address, data) });
    }

    /// Whether a word may point into the heap.
    pub fn is_heap(&mut self, word: *mut IRExpr) -> *mut IRExpr {
        let upper = self.binary(vg::Iop_Shr64, word, byte(crate::arena::SHIFT as u8), vg::Ity_I64);
        self.binary(vg::Iop_CmpEQ64, upper, constant(1), vg::Ity_I1)
    }

    /// The same, and whether it is not known that the user's code has called what
    /// runs.
    pub fn is_heap_outside(&mut self, word: *mut IRExpr) -> *mut IRExpr {
        let upper = self.binary(vg::Iop_Shr64, word, byte(crate::arena::SHIFT as u8), vg::Ity_I64);
        let inside = self.load(vg::Ity_I64, constant(crate::calls::is_inside() as u64));
        let both = self.binary(vg::Iop_Or64, upper, inside, vg::Ity_I64);
        self.binary(vg::Iop_CmpEQ64, both, constant(1), vg::Ity_I1)
    }

    /// Whether two conditions hold.
    pub fn both(&mut self, a: *mut IRExpr, b: *mut IRExpr) -> *mut IRExpr {
        let mut word = |condition| {
            // SAFETY: VEX's own construction function.
            let wide = unsafe { vg::IRExpr_Unop(vg::Iop_1Uto64, condition) };
            self.value(vg::Ity_I64, wide)
        };
        let (a, b) = (word(a), word(b));
        let both = self.binary(vg::Iop_And64, a, b, vg::Ity_I64);
        self.binary(vg::Iop_CmpNE64, both, constant(0), vg::Ity_I1)
    }

    /// Calls a function of ours if `guard` holds; always without one.
    pub fn call(&mut self, guard: Option<*mut IRExpr>, helper: &Helper, arguments: Arguments) {
        // SAFETY: VEX's own construction functions; the function takes as many
        // words as there are arguments.
        unsafe {
            let list = match *arguments {
                [a] => vg::mkIRExprVec_1(a),
                [a, b] => vg::mkIRExprVec_2(a, b),
                [a, b, c] => vg::mkIRExprVec_3(a, b, c),
                [a, b, c, d] => vg::mkIRExprVec_4(a, b, c, d),
                [a, b, c, d, e] => vg::mkIRExprVec_5(a, b, c, d, e),
                _ => return,
            };
            let call = vg::unsafeIRDirty_0_N(0, helper.name.as_ptr(), helper.function as *mut c_void, list);
            if let Some(guard) = guard {
                (*call).guard = guard;
            }
            if helper.clears_stack {
                // Loads must not move past this.
                (*call).mFx = vg::Ifx_Modify;
                (*call).mAddr = arguments[2];
                (*call).mSize = 8;
                reads_registers(&mut *call);
            }
            self.add(vg::IRStmt_Dirty(call));
        }
    }
}

/// Says that a call reads the general registers.
fn reads_registers(call: &mut vg::IRDirty) {
    call.nFxState = 1;
    let effect = &mut call.fxState[0];
    effect.set_fx(vg::Ifx_Read);
    effect.offset = REGISTERS as u16;
    effect.size = 128;
    effect.nRepeats = 0;
    effect.repeatLen = 0;
}

/// A function of ours that instrumented code calls.
pub struct Helper {
    pub name: &'static CStr,
    pub function: *const c_void,
    /// It is given [`guest_state`] and reads general registers there, and
    /// writes to memory below its third argument.
    pub clears_stack: bool,
}

// SAFETY: names and functions do not change.
unsafe impl Sync for Helper {}

pub fn constant(value: u64) -> *mut IRExpr {
    // SAFETY: VEX's own construction functions.
    unsafe { vg::IRExpr_Const(vg::IRConst_U64(value)) }
}

pub fn byte(value: u8) -> *mut IRExpr {
    // SAFETY: VEX's own construction functions.
    unsafe { vg::IRExpr_Const(vg::IRConst_U8(value)) }
}

/// A pointer to the thread's registers.
pub fn guest_state() -> *mut IRExpr {
    // SAFETY: VEX's own construction function.
    unsafe { vg::IRExpr_GSPTR() }
}

/// The temporary that an expression reads, if it is that.
pub fn temporary(expression: *const IRExpr) -> Option<IRTemp> {
    // SAFETY: an expression of VEX's; the tag says which arm is there.
    unsafe { ((*expression).tag == vg::Iex_RdTmp).then(|| (*expression).Iex.RdTmp.tmp) }
}

/// The value of a constant of 64 bits.
pub fn constant_value(expression: *const IRExpr) -> Option<u64> {
    // SAFETY: an expression of VEX's; the tags say which arms are there.
    unsafe {
        if (*expression).tag != vg::Iex_Const {
            return None;
        }
        let constant = (*expression).Iex.Const.con;
        ((*constant).tag == vg::Ico_U64).then(|| (*constant).Ico.U64)
    }
}

/// The value of a constant of 32 or 64 bits.
pub fn integer_value(expression: *const IRExpr) -> Option<u64> {
    // SAFETY: an expression of VEX's; the tags say which arms are there.
    unsafe {
        if (*expression).tag != vg::Iex_Const {
            return None;
        }
        let constant = (*expression).Iex.Const.con;
        match (*constant).tag {
            vg::Ico_U64 => Some((*constant).Ico.U64),
            vg::Ico_U32 => Some(u64::from((*constant).Ico.U32)),
            _ => None,
        }
    }
}

/// The value of a constant of 8 bits.
pub fn byte_value(expression: *const IRExpr) -> Option<u8> {
    // SAFETY: an expression of VEX's; the tags say which arms are there.
    unsafe {
        if (*expression).tag != vg::Iex_Const {
            return None;
        }
        let constant = (*expression).Iex.Const.con;
        ((*constant).tag == vg::Ico_U8).then(|| (*constant).Ico.U8)
    }
}

pub fn bytes_of(kind: IRType) -> usize {
    // SAFETY: a pure function of VEX's.
    unsafe { vg::sizeofIRType(kind) as usize }
}
