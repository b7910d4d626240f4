//! What a program derived with the `symbolic` engine tells the one that runs
//! it: terms over the input, and events in the order in which they happened.
//!
//! Both map one file ([`env::SYMBOLIC`](crate::env::SYMBOLIC)). The driver makes it, sparse and of
//! [`Header::file_bytes`]; the target only appends. Counts are stored after
//! what they count, so that a crash of the target loses nothing.
//!
//! ```text
//! 0          Header
//! FAILS      u32 each: numbers of the calls that are to fail, rising
//! PATTERNS   names of files that are input, each ended by a NUL
//! MODULES    Module each
//! PLACES     u8 for each place: Wanted flags, set by the driver
//! …          names: bytes, each ended by a NUL
//! …          counts: a u8 for each way of a branch or switch: how often it went there
//! …          Node each; number 0 is no term
//! …          Event each
//! ```
//!
//! Each region begins on a page. Places are described in the program itself:
//! [`Place`].

use core::mem::size_of;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use self::terms::{Node, Op, apply, signed, truncated};

mod terms;

pub const MAGIC: [u8; 8] = *b"LEAKSYMB";

/// Raised when a layout below changes its meaning.
pub const VERSION: u32 = 3;

const PAGE: usize = 4096;

pub const FAILS: usize = PAGE;
pub const MAX_FAILS: usize = PAGE / size_of::<u32>();
pub const PATTERNS: usize = FAILS + PAGE;
pub const MAX_PATTERN_BYTES: usize = PAGE;
pub const MODULES: usize = PATTERNS + PAGE;
pub const MAX_MODULES: usize = 4 * PAGE / size_of::<Module>();
pub const PLACES: usize = MODULES + 4 * PAGE;

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Header {
    pub magic: [u8; 8],
    pub version: u32,
    /// Bits of [`wants`]: what is input, and what is told.
    pub wants: u32,
    /// Capacities, set by the driver. Places and names are bytes.
    pub place_capacity: u32,
    pub name_capacity: u32,
    pub node_capacity: u32,
    pub event_capacity: u32,
    /// How many of [`FAILS`], and bytes of [`PATTERNS`].
    pub fails: u32,
    pub pattern_bytes: u32,
    /// From here on the target writes. Nodes count number 0 too, once the
    /// target has begun.
    pub modules: u32,
    pub name_bytes: u32,
    pub nodes: u32,
    pub events: u32,
    /// Bits of [`limits`].
    pub limits: u32,
    /// Calls that could have been made to fail so far.
    pub failable: u32,
    /// Heap objects so far.
    pub objects: u32,
    pub argument_count: u32,
}

impl Header {
    pub fn new(wants: u32, place_capacity: u32, node_capacity: u32, event_capacity: u32) -> Header {
        Header {
            magic: MAGIC,
            version: VERSION,
            wants,
            place_capacity,
            name_capacity: 16 * PAGE as u32,
            node_capacity,
            event_capacity,
            fails: 0,
            pattern_bytes: 0,
            modules: 0,
            name_bytes: 0,
            nodes: 0,
            events: 0,
            limits: 0,
            failable: 0,
            objects: 0,
            argument_count: 0,
        }
    }

    pub fn names_at(&self) -> usize {
        PLACES + pages(self.place_capacity as usize)
    }

    pub fn counts_at(&self) -> usize {
        self.names_at() + pages(self.name_capacity as usize)
    }

    /// Most places are lines and calls, which have no ways.
    pub fn count_bytes(&self) -> usize {
        2 * self.place_capacity as usize
    }

    pub fn nodes_at(&self) -> usize {
        self.counts_at() + pages(self.count_bytes())
    }

    pub fn events_at(&self) -> usize {
        self.nodes_at() + pages(self.node_capacity as usize * size_of::<Node>())
    }

    pub fn file_bytes(&self) -> usize {
        self.events_at() + pages(self.event_capacity as usize * size_of::<Event>())
    }
}

fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

/// What the driver wants: bits of [`Header::wants`].
pub mod wants {
    /// Arguments and their number are input.
    pub const ARGUMENTS: u32 = 1;
    pub const STDIN: u32 = 2;
    /// Variables that the program asks for are input.
    pub const ENVIRONMENT: u32 = 4;
    /// Files whose names match a pattern are input.
    pub const FILES: u32 = 8;
    /// Calls that may fail are counted and told.
    pub const FAILURES: u32 = 16;
    /// Every branch is told, not only those that depend on the input and
    /// those that are wanted.
    pub const ALL_BRANCHES: u32 = 32;
    /// Every heap object is told, not only those of wanted places.
    pub const ALL_OBJECTS: u32 = 64;
    /// Calls and returns of all functions are told.
    pub const ALL_CALLS: u32 = 128;
    /// Every line is told.
    pub const ALL_POINTS: u32 = 256;
    /// Every branch is counted.
    pub const COUNTS: u32 = 512;
}

/// What did not fit: bits of [`Header::limits`].
pub mod limits {
    pub const NODES: u32 = 1;
    pub const EVENTS: u32 = 2;
    pub const NAMES: u32 = 4;
    pub const MODULES: u32 = 8;
    pub const PLACES: u32 = 16;
    /// Memory for shadows of the program's.
    pub const MEMORY: u32 = 32;
}

/// An executable or shared object that was derived. Its places have the
/// numbers from `base` on, in the order of its section; 0 is no place.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Module {
    pub base: u32,
    pub count: u32,
    /// Its path, ended by a NUL; empty for the executable.
    pub path: [u8; 248],
}

/// Where input comes from: [`Node::imm`] of an [`Op::Input`].
pub mod source {
    /// The number of arguments, 32 bits.
    pub const ARGUMENT_COUNT: u16 = 1;
    /// Bytes of standard input, and how many there are (64 bits).
    pub const STDIN: u16 = 2;
    pub const STDIN_SIZE: u16 = 3;
    /// One bit for each call that can fail, by number from 0 on.
    pub const FAILS: u16 = 4;
    /// Bytes of an argument, the NUL at its end included. Argument 0 is the
    /// program's name and never input.
    pub const ARGUMENT: u16 = 0x1000;
    /// Bytes of a file, and how many there are (64 bits). Files and variables
    /// are numbered as the program comes to them, and named by an event.
    pub const FILE: u16 = 0x2000;
    pub const FILE_SIZE: u16 = 0x3000;
    /// Bytes of an environment variable, the NUL at its end included, and
    /// whether it is set (one bit).
    pub const VARIABLE: u16 = 0x4000;
    pub const VARIABLE_SET: u16 = 0x5000;
    /// As many of each kind.
    pub const MOST: u16 = 0x1000;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Event {
    /// [`EventKind`].
    pub kind: u8,
    /// Of a branch: whether the source's condition held.
    pub taken: u8,
    /// By kind.
    pub detail: u16,
    /// The number of a [`Place`].
    pub place: u32,
    pub term: u32,
    pub value: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum EventKind {
    /// `term` is what the code branched on, or 0 where that does not depend on
    /// the input; `value` is its value. The source's condition has the same
    /// value unless [`Place::REVERSED`]; `taken` is the source's.
    Branch = 1,
    /// `term` as above, of any width; `value` its lowest bits; `detail` the
    /// number of the case in [`Place::cases`], from 1 on, 0 for the default.
    Switch = 2,
    /// Into and out of the function of a place.
    Call = 3,
    Return = 4,
    /// A line.
    Point = 5,
    /// `term`, of one bit, is true on this path. `detail` is [`Why`].
    Constraint = 6,
    /// A call that could fail; `term` is the input that says so, `taken`
    /// whether it did, `value` its number.
    Failable = 7,
    /// `value` is the number of the object, from 1 on, `term` its size in
    /// bytes, `detail` the number of [`EventKind::Frame`] events that follow:
    /// the calls around, from the inside out.
    Allocated = 8,
    Frame = 9,
    /// `value` is the object.
    Freed = 10,
    /// For the first time since the object was allocated or a wanted place
    /// was passed.
    Used = 11,
    /// What the terms do not know; `detail` is [`What`].
    Note = 12,
    /// A file or variable that is input; `detail` is the source of its bytes,
    /// `value` the place of its name.
    Source = 13,
    /// `value` is the status with which the program ended by itself.
    Exit = 14,
    /// An option that `getopt` was told of: `value` is the place of its name,
    /// dashes included, `detail` [`TakesArgument`].
    Option = 15,
    /// Strings were compared that differ, one of which depends on the
    /// input: `value` is the place of the other one, behind which that one is.
    Compared = 16,
}

impl EventKind {
    pub fn from_u8(value: u8) -> Option<EventKind> {
        use EventKind::*;
        const ALL: [EventKind; 16] = [
            Branch, Switch, Call, Return, Point, Constraint, Failable, Allocated, Frame, Freed, Used, Note,
            Source, Exit, Option, Compared,
        ];
        ALL.get(usize::from(value).wrapping_sub(1)).copied()
    }
}

/// Whether an option takes an argument: as `has_arg` of `struct option` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum TakesArgument {
    No = 0,
    Always = 1,
    Optionally = 2,
}

impl TakesArgument {
    pub fn from_u16(value: u16) -> Option<TakesArgument> {
        use TakesArgument::*;
        [No, Always, Optionally].into_iter().find(|&takes| takes as u16 == value)
    }
}

/// Where a constraint comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Why {
    /// A library function found it so; it is as good as a branch.
    Model = 1,
    /// An address that depends on the input is taken as it was.
    Address = 2,
    /// So is a size or count.
    Size = 3,
}

impl Why {
    pub fn from_u16(value: u16) -> Option<Why> {
        [Why::Model, Why::Address, Why::Size].into_iter().find(|&why| why as u16 == value)
    }
}

/// What was taken as it was, without a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum What {
    Float = 1,
    Assembler = 2,
    /// A function that was not derived got a value that depends on the input.
    Foreign = 3,
    /// A value of more than 64 bits.
    Wide = 4,
    /// An instruction for which there are no terms.
    Operation = 5,
    /// A file that is not there was to be read.
    Missing = 6,
    /// Nothing is unknown: a library function found so many parts of what it
    /// looks for.
    Matched = 7,
    /// A function that has no model read the input.
    Unseen = 8,
}

impl What {
    pub fn from_u16(value: u16) -> Option<What> {
        use What::*;
        [Float, Assembler, Foreign, Wide, Operation, Missing, Matched, Unseen]
            .into_iter()
            .find(|&what| what as u16 == value)
    }
}

/// What the name of a model of a library function begins with.
pub const MODEL_PREFIX: &str = "__leakscope_model_";

/// Library functions of which the runtime has models, by their names for the
/// linker.
#[rustfmt::skip]
pub const MODELS: &[&str] = &[
    // Heap.
    "malloc", "calloc", "aligned_alloc", "memalign", "realloc", "reallocarray", "free", "posix_memalign",
    // Memory.
    "memcpy", "memmove", "mempcpy", "__memcpy_chk", "__memmove_chk", "__mempcpy_chk", "memset",
    "__memset_chk", "bzero", "memcmp", "bcmp", "memchr", "rawmemchr", "memrchr",
    // Strings.
    "strlen", "strnlen", "strcmp", "strcoll", "strncmp", "strcasecmp", "strncasecmp", "strchr", "index",
    "strchrnul", "strrchr", "rindex", "strstr", "strspn", "strcspn", "strpbrk", "strcpy", "__strcpy_chk",
    "stpcpy", "__stpcpy_chk", "strcat", "__strcat_chk", "strncpy", "__strncpy_chk", "strncat", "strdup",
    "__strdup", "strndup", "strtok", "strtok_r", "__strtok_r", "strsep",
    // Numbers.
    "atoi", "atol", "atoll", "strtol", "strtoll", "strtoimax", "strtoul", "strtoull", "strtoumax",
    "isalnum", "isalpha", "isblank", "iscntrl", "isdigit", "isgraph", "islower", "isprint", "ispunct",
    "isspace", "isupper", "isxdigit", "tolower", "toupper", "iswalnum", "iswalpha", "iswblank",
    "iswcntrl", "iswdigit", "iswgraph", "iswlower", "iswprint", "iswpunct", "iswspace", "iswupper",
    "iswxdigit", "towlower", "towupper", "wcwidth", "btowc",
    // Files.
    "open", "open64", "__open_2", "openat", "openat64", "close", "dup", "dup2", "read", "__read_chk",
    "pread", "pread64", "lseek", "lseek64", "fstat", "fstat64", "stat", "stat64", "lstat", "lstat64", "mmap", "mmap64", "getenv",
    "secure_getenv",
    // Streams.
    "fgetc", "getc", "_IO_getc", "getc_unlocked", "fgetc_unlocked", "__uflow", "getchar",
    "getchar_unlocked", "__underflow", "ungetc", "fgets", "fgets_unlocked", "__fgets_chk", "fread",
    "fread_unlocked", "__fread_chk", "getline", "getdelim", "__getdelim", "fopen", "fopen64", "fdopen",
    "tmpfile", "tmpfile64", "freopen",
    "fclose", "fseek", "fseeko", "rewind", "ftell", "ftello", "ferror", "ferror_unlocked",
    // Options.
    "getopt", "__posix_getopt", "getopt_long", "getopt_long_only",
    // Scans.
    "sscanf", "__isoc99_sscanf", "fscanf", "__isoc99_fscanf", "scanf", "__isoc99_scanf",
    // Others.
    "qsort", "bsearch", "htonl", "ntohl", "htons", "ntohs", "mbrtowc",
    // Operators.
    "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t", "_ZdaPvmSt11align_val_t",
    // Istreams.
    "_ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_",
    "_ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE",
    "_ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_", "_ZNSi3getERc", "_ZNSi3getEv",
    "_ZNSi4peekEv", "_ZNSi4readEPcl", "_ZNSi7getlineEPcl", "_ZNSi7getlineEPclc", "_ZNSirsERi",
    "_ZNSirsERs", "_ZNSi10_M_extractIiEERSiRT_", "_ZNSi10_M_extractIjEERSiRT_",
    "_ZNSi10_M_extractItEERSiRT_", "_ZNSi10_M_extractIlEERSiRT_", "_ZNSi10_M_extractImEERSiRT_",
    "_ZNSi10_M_extractIxEERSiRT_", "_ZNSi10_M_extractIyEERSiRT_",
    "_ZNSt15basic_streambufIcSt11char_traitsIcEE5sgetcEv",
    "_ZNSt15basic_streambufIcSt11char_traitsIcEE6sbumpcEv",
    "_ZNSt15basic_streambufIcSt11char_traitsIcEE6snextcEv",
    "_ZNSolsEPSt15basic_streambufIcSt11char_traitsIcEE",
    "_ZNKSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE3strEv",
    "_ZNKSt7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE3strEv",
    // Cxx_strings.
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_appendEPKcm",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_assignERKS4_",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE10_M_replaceEmmPKcm",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE14_M_replace_auxEmmmc",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_mutateEmmPKcm",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE8_M_eraseEmm",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6resizeEmc",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEm",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4swapERS4_",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEPKc",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7compareEmmPKc",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findEcm",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE5rfindEcm",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4findEPKcmm",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE13find_first_ofEPKcmm",
    // Prints.
    "vsprintf", "__vsprintf_chk", "vsnprintf", "__vsnprintf_chk", "vasprintf", "__vasprintf_chk",
    "sprintf", "__sprintf_chk", "snprintf", "__snprintf_chk", "asprintf", "__asprintf_chk",
];

/// Section of a derived program that holds its [`Place`]s, one after another.
pub const PLACES_SECTION: &str = "leakscope_places";

/// A place in the source, as data of the derived program. Texts end with a NUL
/// and are found by their distance from the field that names them
/// ([`Place::target`]).
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Place {
    /// While the program runs: what the driver wants of it ([`Place::WANTED`]).
    pub flags: u32,
    /// [`PlaceKind`].
    pub kind: u16,
    /// Which of those of this kind, line and column in the function.
    pub ordinal: u16,
    pub line: u32,
    pub column: u32,
    /// Where its path is.
    pub file: i32,
    /// Where the function's name is, as the linker knows it.
    pub function: i32,
    /// Of a call: where the name of the function is that it calls; 0 if that
    /// is not known. Of a switch: where its cases are.
    pub detail: i32,
    /// Number of cases, each a u64.
    pub cases: u32,
    /// Bits: [`Place::REVERSED`].
    pub traits: u32,
    /// While the program runs, of a branch or switch: which count is that of
    /// its first way.
    pub first_way: u32,
}

impl Place {
    /// How many ways are counted for it, in the order of places.
    pub fn ways(kind: PlaceKind, cases: u32) -> u32 {
        match kind {
            PlaceKind::Branch => 2,
            PlaceKind::Switch => cases + 1,
            PlaceKind::Function | PlaceKind::Call | PlaceKind::Line => 0,
        }
    }

    /// Tell it whenever it is passed.
    pub const WANTED: u8 = 1;
    /// The code branches on the opposite of what the source says.
    pub const REVERSED: u32 = 1;

    pub const FILE_AT: u64 = 16;
    pub const FUNCTION_AT: u64 = 20;
    pub const DETAIL_AT: u64 = 24;

    /// What a distance in a field leads to, given the address of the place and
    /// where the field is in it.
    pub fn target(place: u64, field: u64, distance: i32) -> u64 {
        (place + field).wrapping_add_signed(i64::from(distance))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum PlaceKind {
    Branch = 1,
    Switch = 2,
    /// The start of a function.
    Function = 3,
    /// The first instruction of a line in a block of code.
    Line = 4,
    Call = 5,
}

impl PlaceKind {
    pub fn from_u16(value: u16) -> Option<PlaceKind> {
        use PlaceKind::*;
        [Branch, Switch, Function, Line, Call].into_iter().find(|&kind| kind as u16 == value)
    }
}

/// The file as the driver reads it, also while the target runs.
#[derive(Clone, Copy)]
pub struct View<'a> {
    bytes: &'a [u8],
    pub header: Header,
}

impl<'a> View<'a> {
    /// `None` if it is not a file of this format and version.
    pub fn new(bytes: &'a [u8]) -> Option<View<'a>> {
        let (header, _) = Header::read_from_prefix(bytes).ok()?;
        let fits = header.magic == MAGIC && header.version == VERSION && bytes.len() >= header.file_bytes();
        fits.then_some(View { bytes, header })
    }

    /// By number; number 0 is there but is no term.
    pub fn nodes(&self) -> &'a [Node] {
        self.list(self.header.nodes_at(), self.header.nodes.min(self.header.node_capacity))
    }

    pub fn events(&self) -> &'a [Event] {
        self.list(self.header.events_at(), self.header.events.min(self.header.event_capacity))
    }

    /// How often branches went each way, up to 255: not and taken for each
    /// place; cases of a switch go on from there.
    pub fn counts(&self) -> &'a [u8] {
        self.list(self.header.counts_at(), self.header.count_bytes() as u32)
    }

    pub fn modules(&self) -> &'a [Module] {
        self.list(MODULES, self.header.modules.min(MAX_MODULES as u32))
    }

    /// The name that an [`EventKind::Source`] or [`EventKind::Option`] tells.
    pub fn name(&self, at: u32) -> &'a [u8] {
        let start = self.header.names_at();
        let names = &self.bytes[start..start + self.header.name_capacity as usize];
        let name = names.get(at as usize..).unwrap_or_default();
        name.split(|&byte| byte == 0).next().unwrap_or_default()
    }

    fn list<T: FromBytes + Immutable>(&self, at: usize, count: u32) -> &'a [T] {
        let bytes = &self.bytes[at..at + count as usize * size_of::<T>()];
        <[T]>::ref_from_bytes(bytes).unwrap_or_default()
    }
}
