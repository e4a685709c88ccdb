//! Which URLs and addresses are taken.

use std::net::Ipv6Addr;

/// An `http://` URL with a host and, if any, a port up to 65535; with no user.
pub fn is_http_url(url: &str) -> bool {
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return false;
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(bracketed) => match bracketed.split_once(']') {
            Some((host, port)) if host.parse::<Ipv6Addr>().is_ok() => (host, port),
            _ => return false,
        },
        None => match authority.find(':') {
            Some(colon) => authority.split_at(colon),
            None => (authority, ""),
        },
    };
    let port_is_fine = match port.strip_prefix(':') {
        Some(number) => number.is_empty() || is_port(number),
        None => port.is_empty(),
    };
    scheme.eq_ignore_ascii_case("http") && !host.is_empty() && port_is_fine
}

/// `host:port` or `:port`.
pub fn is_listening_address(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else {
        return false;
    };
    let host_is_fine = match host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
    {
        Some(host) => host.parse::<Ipv6Addr>().is_ok(),
        None => !host.contains([':', '[', ']', ' ']),
    };
    host_is_fine && is_port(port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}
