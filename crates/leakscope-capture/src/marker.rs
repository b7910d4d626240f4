//! The section `.leakscope` in objects and linked files, which names what
//! they were made of.
//!
//! The section is not loaded and is marked `SHF_EXCLUDE`: a linker leaves it
//! out of programs, so their other bytes and their build id stay what they
//! are without it, and `ld -r` joins the sections of its inputs. It is added
//! after the end of the file, with a new table of section headers; of the
//! bytes before, only the file header's two fields for that table change.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use object::elf::{FileHeader64, SHF_EXCLUDE, SHN_LORESERVE, SHT_PROGBITS, SectionHeader64};
use object::pod::{bytes_of, bytes_of_slice};
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, U16, U32, U64};

use crate::store::{Blob, LinkId, UnitId};

const SECTION: &[u8] = b".leakscope";

/// What a section names, and the store that holds it.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    pub names: Named,
    pub store: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    Unit(UnitId),
    /// An object that was made without bitcode, from assembler or by a
    /// failure; so that `ld -r` does not lose sight of it.
    Object(Blob),
    Link(LinkId),
}

#[derive(Debug, thiserror::Error)]
pub enum MarkerError {
    #[error("it is no 64-bit ELF file with sections")]
    NotElf,
    #[error("its section table has no room")]
    Full,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The markers in an ELF file, in order; none where there is no section.
pub fn read(file: &[u8]) -> Vec<Marker> {
    let Ok(elf) = Elf::parse(file) else { return Vec::new() };
    elf.sections
        .iter()
        .filter(|section| elf.name(section) == SECTION)
        .filter_map(|section| section.data(LittleEndian, file).ok())
        .flat_map(decode)
        .collect()
}

/// Makes `markers` the markers of the ELF file at `path`. Its time stays what
/// the compiler made it, and a file that shares its content with another name
/// (a compiler cache's hard link) is replaced, not written to.
pub fn write(path: &Path, markers: &[Marker]) -> Result<(), MarkerError> {
    let path = fs::canonicalize(path)?;
    let metadata = fs::metadata(&path)?;
    let old = fs::read(&path)?;
    let Edit { header, tail } = edit(&old, &encode(markers))?;
    if metadata.nlink() > 1 {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&header)?;
        file.write_all(&old[header.len()..])?;
        file.write_all(&tail)?;
        file.as_file().set_permissions(metadata.permissions())?;
        file.as_file().set_modified(metadata.modified()?)?;
        file.persist(&path).map_err(|error| error.error)?;
    } else {
        // The header goes last: until it is there, the file is as before.
        let file = File::options().write(true).open(&path)?;
        file.write_all_at(&tail, old.len() as u64)?;
        file.write_all_at(&header, 0)?;
        file.set_modified(metadata.modified()?)?;
    }
    Ok(())
}

struct Edit {
    header: Vec<u8>,
    tail: Vec<u8>,
}

fn edit(file: &[u8], content: &[u8]) -> Result<Edit, MarkerError> {
    let elf = Elf::parse(file)?;
    let mut sections = elf.sections.to_vec();
    let mut tail = content.to_vec();
    let at = |tail: &[u8]| U64::new(LittleEndian, (file.len() + tail.len()) as u64);
    let length = |data: &[u8]| U64::new(LittleEndian, data.len() as u64);

    match sections.iter().position(|section| elf.name(section) == SECTION) {
        Some(ours) => {
            sections[ours].sh_offset = at(&[]);
            sections[ours].sh_size = length(content);
        }
        None => {
            let mut names = elf.names.to_vec();
            let name = names.len() as u32;
            names.extend(SECTION);
            names.push(0);
            sections[elf.names_index].sh_offset = at(&tail);
            sections[elf.names_index].sh_size = length(&names);
            tail.extend(names);
            sections.push(SectionHeader64 {
                sh_name: U32::new(LittleEndian, name),
                sh_type: U32::new(LittleEndian, SHT_PROGBITS),
                sh_flags: U64::new(LittleEndian, SHF_EXCLUDE),
                sh_addr: U64::default(),
                sh_offset: at(&[]),
                sh_size: length(content),
                sh_link: U32::default(),
                sh_info: U32::default(),
                sh_addralign: U64::new(LittleEndian, 1),
                sh_entsize: U64::default(),
            });
        }
    }
    if sections.len() >= usize::from(SHN_LORESERVE) {
        return Err(MarkerError::Full);
    }
    tail.resize((file.len() + tail.len()).next_multiple_of(8) - file.len(), 0);
    let mut header = *elf.header;
    header.e_shoff = at(&tail);
    header.e_shnum = U16::new(LittleEndian, sections.len() as u16);
    tail.extend(bytes_of_slice(&sections));
    Ok(Edit { header: bytes_of(&header).to_vec(), tail })
}

type Header = FileHeader64<LittleEndian>;

struct Elf<'data> {
    header: &'data Header,
    sections: &'data [SectionHeader64<LittleEndian>],
    /// The table of section names, and which section it is.
    names: &'data [u8],
    names_index: usize,
}

impl<'data> Elf<'data> {
    fn parse(file: &'data [u8]) -> Result<Elf<'data>, MarkerError> {
        let parse = || -> object::Result<Elf<'data>> {
            let header = Header::parse(file)?;
            let endian = header.endian()?;
            let sections = header.section_headers(endian, file)?;
            let names_index = header.shstrndx(endian, file)? as usize;
            let names = sections.get(names_index).map(|section| section.data(endian, file));
            Ok(Elf { header, sections, names: names.unwrap_or(Ok(&[]))?, names_index })
        };
        parse().ok().filter(|elf| !elf.names.is_empty()).ok_or(MarkerError::NotElf)
    }

    fn name(&self, section: &SectionHeader64<LittleEndian>) -> &'data [u8] {
        let rest = self.names.get(section.sh_name.get(LittleEndian) as usize..).unwrap_or_default();
        rest.split(|byte| *byte == 0).next().unwrap_or_default()
    }
}

/// Each marker is two strings, each ended by a NUL: `unit/ID`, `object/ID` or
/// `link/ID`, and the store's path.
fn encode(markers: &[Marker]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Marker { names, store } in markers {
        let (kind, id) = match names {
            Named::Unit(UnitId(id)) => ("unit", id),
            Named::Object(Blob(id)) => ("object", id),
            Named::Link(LinkId(id)) => ("link", id),
        };
        bytes.extend(format!("{kind}/{id}\0").as_bytes());
        bytes.extend(store.as_os_str().as_encoded_bytes());
        bytes.push(0);
    }
    bytes
}

fn decode(bytes: &[u8]) -> Vec<Marker> {
    let strings: Vec<_> = bytes.split(|byte| *byte == 0).collect();
    let marker = |pair: &[&[u8]]| {
        let (kind, id) = str::from_utf8(pair[0]).ok()?.split_once('/')?;
        let names = match kind {
            "unit" => Named::Unit(UnitId(id.to_owned())),
            "object" => Named::Object(Blob(id.to_owned())),
            "link" => Named::Link(LinkId(id.to_owned())),
            _ => return None,
        };
        Some(Marker { names, store: PathBuf::from(OsStr::from_bytes(pair[1])) })
    };
    strings.chunks_exact(2).filter_map(marker).collect()
}
