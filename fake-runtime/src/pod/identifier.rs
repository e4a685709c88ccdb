//! Ids and uids that are always the same for the same names.

/// An id as containerd's are, 64 hexadecimal digits, but always the same for the same names.
pub(super) fn identifier(names: &[&str]) -> String {
    (0..4u64)
        .map(|part| format!("{:016x}", hash(part, names)))
        .collect()
}

/// A uid as the API server's are, but always the same for the same Pod.
pub(super) fn uid(namespace: &str, name: &str) -> String {
    let digits = identifier(&["uid", namespace, name]);
    let part = |range: std::ops::Range<usize>| &digits[range];
    let (a, b, c, d, e) = (
        part(0..8),
        part(8..12),
        part(13..16),
        part(17..20),
        part(20..32),
    );
    format!("{a}-{b}-4{c}-8{d}-{e}")
}

/// FNV-1a: ids stand in golden files, so that no release of any library may change them.
fn hash(seed: u64, names: &[&str]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = names.iter().flat_map(|name| name.bytes().chain([0]));
    bytes.fold(OFFSET ^ seed, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}
