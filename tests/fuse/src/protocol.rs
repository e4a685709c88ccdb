//! FUSE's messages, of those that a directory needs: fixed numbers in the machine's byte order.

pub(crate) const LOOKUP: u32 = 1;
pub(crate) const FORGET: u32 = 2;
pub(crate) const GETATTR: u32 = 3;
pub(crate) const OPEN: u32 = 14;
pub(crate) const RELEASE: u32 = 18;
pub(crate) const FLUSH: u32 = 25;
pub(crate) const INIT: u32 = 26;
pub(crate) const OPENDIR: u32 = 27;
pub(crate) const READDIR: u32 = 28;
pub(crate) const RELEASEDIR: u32 = 29;
pub(crate) const INTERRUPT: u32 = 36;
pub(crate) const BATCH_FORGET: u32 = 42;

/// The number of the directory itself.
pub(crate) const ROOT: u64 = 1;

/// What the kernel demands room for.
pub(crate) const LONGEST_REQUEST: usize = 64 << 10;

const HEADER: usize = 40;

/// What the kernel asks.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) opcode: u32,
    pub(crate) node: u64,
    unique: u64,
    argument: Vec<u8>,
}

impl Request {
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        Some(Self {
            opcode: u32_at(header, 4)?,
            unique: u64_at(header, 8)?,
            node: u64_at(header, 16)?,
            argument: bytes[HEADER..].to_vec(),
        })
    }

    /// The name that is looked up.
    pub(crate) fn name(&self) -> Option<&str> {
        std::str::from_utf8(self.argument.strip_suffix(&[0])?).ok()
    }

    /// Where in the directory a listing goes on.
    pub(crate) fn offset(&self) -> usize {
        let offset = u64_at(&self.argument, 8).and_then(|offset| offset.try_into().ok());
        offset.unwrap_or_default()
    }

    /// How much of it is taken.
    pub(crate) fn room(&self) -> usize {
        u32_at(&self.argument, 16).map_or(0, |room| room as usize)
    }

    /// The answer with its header.
    pub(crate) fn answer(&self, answer: Result<Vec<u8>, i32>) -> Vec<u8> {
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(errno) => (-errno, Vec::new()),
        };
        let length = u32::try_from(16 + body.len()).expect("an answer is shorter than 4 GiB");
        let mut bytes = length.to_ne_bytes().to_vec();
        bytes.extend(error.to_ne_bytes());
        bytes.extend(self.unique.to_ne_bytes());
        bytes.extend(body);
        bytes
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// What a node is.
pub(crate) struct Attributes {
    pub(crate) node: u64,
    pub(crate) mode: u32,
    pub(crate) rdev: u64,
}

impl Attributes {
    fn bytes(&self) -> Vec<u8> {
        // Size, blocks, three times and their parts of seconds are 0.
        let mut bytes = self.node.to_ne_bytes().to_vec();
        bytes.extend([0; 5 * 8 + 3 * 4]);
        let links = 1_u32;
        // Numbers beyond 32 bits are not used here.
        let rdev = u32::try_from(self.rdev).unwrap_or_default();
        for number in [self.mode, links, 0, 0, rdev, 4096, 0] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes
    }
}

/// To INIT: version 7.31, nothing optional, and 4 KiB of a write at a time.
pub(crate) fn init() -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [7_u32, 31, 0, 0, 0, 4096] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.resize(64, 0);
    bytes
}

/// To LOOKUP. Neither the name nor what it is may be kept: each is asked for again.
pub(crate) fn entry(attributes: Attributes) -> Vec<u8> {
    let mut bytes = attributes.node.to_ne_bytes().to_vec();
    bytes.resize(40, 0);
    bytes.extend(attributes.bytes());
    bytes
}

/// To GETATTR.
pub(crate) fn attributes(attributes: Attributes) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    bytes.extend(attributes.bytes());
    bytes
}

/// To OPEN and OPENDIR.
pub(crate) fn opened() -> Vec<u8> {
    vec![0; 16]
}

/// To READDIR: the names from `offset` on that there is room for, all of an unknown type.
pub(crate) fn listing<'a>(
    names: impl Iterator<Item = &'a str>,
    offset: usize,
    room: usize,
) -> Vec<u8> {
    const ANY_NODE: u64 = u64::MAX;
    const UNKNOWN: u32 = 0;
    let mut bytes = Vec::new();
    for (place, name) in names.enumerate().skip(offset) {
        let length = (24 + name.len()).next_multiple_of(8);
        if bytes.len() + length > room {
            break;
        }
        let end = bytes.len() + length;
        bytes.extend(ANY_NODE.to_ne_bytes());
        bytes.extend((place as u64 + 1).to_ne_bytes());
        let name_length = u32::try_from(name.len()).expect("a name is short");
        bytes.extend(name_length.to_ne_bytes());
        bytes.extend(UNKNOWN.to_ne_bytes());
        bytes.extend(name.as_bytes());
        bytes.resize(end, 0);
    }
    bytes
}
