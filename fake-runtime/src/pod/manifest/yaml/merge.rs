//! Merge keys: `<<: *defaults`.

use super::{At, Content, Field, Node};

/// The fields of a map with those that it takes over from others; its own count.
pub(super) fn merged(fields: Vec<Field>) -> Result<Vec<Field>, At> {
    if !fields.iter().any(|field| field.name == "<<") {
        return Ok(fields);
    }
    let (merges, own): (Vec<_>, Vec<_>) = fields.into_iter().partition(|it| it.name == "<<");
    let mut all: Vec<Field> = Vec::new();
    for Field { value, .. } in merges {
        let others = match value.content {
            Content::List(maps) => maps,
            content => vec![Node { content, ..value }],
        };
        for other in others {
            let Content::Map(fields) = other.content else {
                return Err(At::new(other.line, "<< takes a map, or a list of them"));
            };
            for field in fields {
                if !all.iter().chain(&own).any(|it| it.name == field.name) {
                    all.push(field);
                }
            }
        }
    }
    all.extend(own);
    Ok(all)
}
