//! Which memory a call writes over.

use crate::ir::{Opcode, Value};

/// How many bytes are written.
#[derive(Clone, Copy)]
pub enum Length<'m> {
    Value(Value<'m>),
    /// Of two arguments.
    Product(Value<'m>, Value<'m>),
    Pointer,
    /// The address is that of so many `iovec`, which say where.
    Parts(Value<'m>),
    /// The address is that of a `msghdr`, which has them.
    Message,
}

/// Memory that a call writes over: all of it for certain, or as much as it
/// likes.
pub struct Write<'m> {
    pub address: Value<'m>,
    pub length: Length<'m>,
    pub is_certain: bool,
}

/// Functions of the C library that write up to so many bytes: name, argument
/// with the address, argument with the number.
const UP_TO: [(&str, u32, u32); 24] = [
    ("read", 1, 2),
    ("__read_chk", 1, 2),
    ("pread", 1, 2),
    ("pread64", 1, 2),
    ("recv", 1, 2),
    ("__recv_chk", 1, 2),
    ("recvfrom", 1, 2),
    ("__recvfrom_chk", 1, 2),
    ("fgets", 0, 1),
    ("__fgets_chk", 0, 2),
    ("snprintf", 0, 1),
    ("__snprintf_chk", 0, 1),
    ("vsnprintf", 0, 1),
    ("__vsnprintf_chk", 0, 1),
    ("strncpy", 0, 2),
    ("__strncpy_chk", 0, 2),
    ("readlink", 1, 2),
    ("getcwd", 0, 1),
    ("getrandom", 0, 1),
    ("gethostname", 0, 1),
    ("strftime", 0, 1),
    ("memccpy", 0, 3),
    ("getentropy", 0, 1),
    ("strxfrm", 0, 2),
];

/// Functions of the C library that put a pointer where an argument says.
const POINTERS: [(&str, u32); 8] = [
    ("asprintf", 0),
    ("__asprintf_chk", 0),
    ("vasprintf", 0),
    ("__vasprintf_chk", 0),
    ("getline", 0),
    ("getdelim", 0),
    ("posix_memalign", 0),
    ("getaddrinfo", 3),
];

/// What a call writes over. A function that is not known, and whose code is
/// elsewhere, may replace a pointer whose address it gets.
pub fn of_call<'m>(call: Value<'m>) -> Vec<Write<'m>> {
    let Some(name) = call.called_name() else { return pointers_passed(call) };
    let certain = |address, length| {
        vec![Write {
            address: call.operand(address),
            length: Length::Value(call.operand(length)),
            is_certain: true,
        }]
    };
    if ["llvm.memcpy.", "llvm.memmove.", "llvm.memset."].iter().any(|start| name.starts_with(start)) {
        return certain(0, 2);
    }
    match name {
        "memcpy" | "memmove" | "memset" | "mempcpy" | "__memcpy_chk" | "__memmove_chk" | "__memset_chk" => {
            return certain(0, 2);
        }
        "bzero" | "explicit_bzero" => return certain(0, 1),
        "bcopy" => return certain(1, 2),
        // It writes later, and nobody sees that; nor can the old pointer be kept there.
        "open_memstream" | "open_wmemstream" => {
            return vec![Write { address: call.operand(0), length: Length::Pointer, is_certain: true }];
        }
        "fread" | "fread_unlocked" | "__fread_chk" => {
            let first = u32::from(name == "__fread_chk");
            let length = Length::Product(call.operand(1 + first), call.operand(2 + first));
            return vec![Write { address: call.operand(0), length, is_certain: false }];
        }
        "readv" | "preadv" | "preadv64" | "preadv2" | "preadv64v2" => {
            let length = Length::Parts(call.operand(2));
            return vec![Write { address: call.operand(1), length, is_certain: false }];
        }
        "recvmsg" => {
            return vec![Write { address: call.operand(1), length: Length::Message, is_certain: false }];
        }
        _ => {}
    }
    if let Some(&(_, address, length)) = UP_TO.iter().find(|(known, ..)| *known == name) {
        let length = Length::Value(call.operand(length));
        return vec![Write { address: call.operand(address), length, is_certain: false }];
    }
    if let Some(&(_, address)) = POINTERS.iter().find(|(known, _)| *known == name) {
        return vec![Write { address: call.operand(address), length: Length::Pointer, is_certain: false }];
    }
    if call.is_intrinsic() || !call.called().is_some_and(Value::is_declaration) {
        return Vec::new();
    }
    pointers_passed(call)
}

fn pointers_passed<'m>(call: Value<'m>) -> Vec<Write<'m>> {
    call.arguments()
        .filter(|argument| argument.is(Opcode::LLVMAlloca) && argument.allocates_pointer())
        .map(|address| Write { address, length: Length::Pointer, is_certain: false })
        .collect()
}
