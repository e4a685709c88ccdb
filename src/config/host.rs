//! The host of an address or a URL.

use std::net::Ipv6Addr;

/// The host without the brackets that an IPv6 address needs beside a port; `None` where it could be no host.
pub(super) fn unbracketed(host: &str) -> Option<&str> {
    let Some(bracketed) = host.strip_prefix('[') else {
        let plain =
            !host.contains(|c: char| c.is_whitespace() || matches!(c, ':' | '[' | ']' | '/'));
        return plain.then_some(host);
    };
    let inside = bracketed.strip_suffix(']')?;
    let address = inside.split('%').next()?;
    address.parse::<Ipv6Addr>().is_ok().then_some(inside)
}
