//! A message's fields where they lie: nothing is copied, and what is not asked for is passed over.
//!
//! A request holds a container's whole OCI spec, and an inventory a node's every pod. Who needs a few of their fields
//! reads those alone, in a fraction of the time and the memory that decoding takes.

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// Why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It is no message.
    #[error(transparent)]
    Wire(#[from] DecodeError),
    /// It ends in the middle of a field.
    #[error("field {0} is longer than its message")]
    Truncated(u32),
    /// A field is of another type than the message's definition says.
    #[error("field {0} is of another type")]
    Type(u32),
    /// A text is none.
    #[error("field {0} is not UTF-8")]
    Text(u32),
}

/// The fields of an encoded message, in order. After an error there are none.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(&'a [u8]);

/// One field of a message. A repeated one comes once for each value.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// The field's number.
    pub number: u32,
    value: Value<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Value<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    /// Of a type that none of NRI's fields has.
    Other,
}

impl<'a> Fields<'a> {
    /// Those of the message in `bytes`.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn read(&mut self) -> Result<Field<'a>, Malformed> {
        let (number, kind) = decode_key(&mut self.0)?;
        let value = match kind {
            WireType::Varint => Value::Varint(decode_varint(&mut self.0)?),
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut self.0)?).unwrap_or(usize::MAX);
                let split = self.0.split_at_checked(length);
                let (value, rest) = split.ok_or(Malformed::Truncated(number))?;
                self.0 = rest;
                Value::Bytes(value)
            }
            _ => {
                skip_field(kind, number, &mut self.0, DecodeContext::default())?;
                Value::Other
            }
        };
        Ok(Field { number, value })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// Where a Synchronize request lists the pods.
pub const SYNCHRONIZE_PODS: u32 = 1;
/// Where it lists the containers.
pub const SYNCHRONIZE_CONTAINERS: u32 = 2;
/// Where it says that it has another part.
const SYNCHRONIZE_MORE: u32 = 3;

/// Whether another part of the list follows a Synchronize request.
///
/// # Errors
///
/// When it is no such request.
pub fn more(synchronize: &[u8]) -> Result<bool, Malformed> {
    let mut more = false;
    for field in Fields::of(synchronize) {
        let field = field?;
        match field.number {
            SYNCHRONIZE_PODS | SYNCHRONIZE_CONTAINERS => drop(field.bytes()?),
            SYNCHRONIZE_MORE => more = field.varint()? != 0,
            _ => {}
        }
    }
    Ok(more)
}

impl<'a> Field<'a> {
    /// The encoded message that it holds.
    ///
    /// # Errors
    ///
    /// When it holds a number.
    pub fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(Malformed::Type(self.number)),
        }
    }

    /// The fields of the message that it holds.
    ///
    /// # Errors
    ///
    /// When it holds a number.
    pub fn fields(self) -> Result<Fields<'a>, Malformed> {
        self.bytes().map(Fields)
    }

    /// The text that it holds.
    ///
    /// # Errors
    ///
    /// When it holds none.
    pub fn text(self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed::Text(self.number))
    }

    /// The number that it holds; a negative one as its complement.
    ///
    /// # Errors
    ///
    /// When it holds none.
    pub fn varint(self) -> Result<u64, Malformed> {
        match self.value {
            Value::Varint(number) => Ok(number),
            _ => Err(Malformed::Type(self.number)),
        }
    }

    /// The key and the value of the map's entry that it holds.
    ///
    /// # Errors
    ///
    /// When it holds none.
    pub fn entry(self) -> Result<(&'a str, &'a str), Malformed> {
        let mut entry = ("", "");
        for field in self.fields()? {
            let field = field?;
            match field.number {
                1 => entry.0 = field.text()?,
                2 => entry.1 = field.text()?,
                _ => {}
            }
        }
        Ok(entry)
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::api;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let device = api::LinuxDevice {
            path: "/dev/nvidia0".to_owned(),
            major: -1,
            minor: 195,
            ..Default::default()
        };
        let bytes = device.encode_to_vec();
        let fields: Result<Vec<_>, _> = Fields::of(&bytes).collect();
        let fields = fields.unwrap();
        let numbers: Vec<_> = fields.iter().map(|field| field.number).collect();
        assert_eq!(numbers, [1, 3, 4]);
        assert_eq!(fields[0].text(), Ok("/dev/nvidia0"));
        assert_eq!(fields[1].varint().map(u64::cast_signed), Ok(-1));
        assert_eq!(fields[2].varint(), Ok(195));
        assert_eq!(fields[0].varint(), Err(Malformed::Type(1)));
        assert_eq!(fields[2].text(), Err(Malformed::Type(4)));
    }

    #[test]
    fn a_list_in_parts_says_whether_it_goes_on() {
        for more in [true, false] {
            let part = api::SynchronizeRequest {
                pods: vec![api::PodSandbox::default()],
                containers: vec![api::Container::default()],
                more,
            };
            assert_eq!(super::more(&part.encode_to_vec()), Ok(more));
        }
        let no_list = [0x08, 1];
        assert_eq!(super::more(&no_list), Err(Malformed::Type(1)));
    }

    #[test]
    fn a_map_is_read_entry_by_entry() {
        let pod = api::PodSandbox {
            labels: [("key".to_owned(), "value".to_owned())].into(),
            ..Default::default()
        };
        let bytes = pod.encode_to_vec();
        let field = Fields::of(&bytes).next().unwrap().unwrap();
        assert_eq!((field.number, field.entry()), (5, Ok(("key", "value"))));
    }

    #[test]
    fn fields_of_types_that_nri_does_not_have_are_passed_over() {
        // A fixed one of eight bytes, one of four, an empty group, and then a number.
        let bytes = [
            &[0x09][..],
            &[0; 8],
            &[0x15],
            &[0; 4],
            &[0x1b, 0x1c],
            &[0x20, 7],
        ]
        .concat();
        let fields: Result<Vec<_>, _> = Fields::of(&bytes).collect();
        let fields = fields.unwrap();
        assert_eq!(
            fields.iter().map(|it| it.number).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        assert_eq!(fields[3].varint(), Ok(7));
        assert_eq!(fields[0].bytes(), Err(Malformed::Type(1)));
    }

    #[test]
    fn what_is_no_message_ends_in_an_error() {
        for bytes in [
            &[0x80][..],
            &[0x00],
            &[0x0a, 2, 0],
            &[0x08],
            &[0x0f],
            &[0x09, 0],
        ] {
            let fields: Vec<_> = Fields::of(bytes).collect();
            assert_eq!(fields.len(), 1, "{bytes:?}");
            assert!(fields[0].is_err(), "{bytes:?}");
        }
        let no_text = Fields::of(&[0x0a, 1, 0xff]).next().unwrap().unwrap();
        assert_eq!(no_text.text(), Err(Malformed::Text(1)));
    }
}
