//! Every message and enum of NRI 0.12, and the names of its services, generated from `proto/`.
//!
//! Maps are sorted, so that equal messages have equal bytes. With the feature `json` every message also reads
//! and writes canonical protobuf JSON: field names in lowerCamelCase (the proto's own are read too), 64-bit
//! numbers as text, zero values left out, and an unknown field an error.

#![expect(
    missing_docs,
    reason = "generated: every message says what it is, most field names need no more"
)]

include!(concat!(env!("OUT_DIR"), "/nri.pkg.api.v1alpha1.rs"));

#[cfg(feature = "json")]
mod json {
    #![expect(
        clippy::allow_attributes_without_reason,
        reason = "generated, with allowances of its own"
    )]

    use super::*;

    include!(concat!(env!("OUT_DIR"), "/nri.pkg.api.v1alpha1.serde.rs"));
}
