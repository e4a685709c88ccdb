//! The address of the probes, in Go's form.

use std::fmt;

use super::error::{Cause, ConfigError};
use super::host::unbracketed;

/// Where the probes listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthAddr {
    /// A name or an address, without brackets; empty is every address, IPv4 and IPv6.
    pub host: String,
    /// The port; 0 is any free one.
    pub port: u16,
}

impl HealthAddr {
    /// Reads `host:port` or `:port`; an empty text is no address, which turns the probes off.
    ///
    /// # Errors
    ///
    /// When it is something else, or the port is no number up to 65535.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, ConfigError> {
        if text.is_empty() {
            return Ok(None);
        }
        match split(text) {
            Some(addr) => Ok(Some(addr)),
            None => Err(ConfigError::invalid("health-addr", text, Cause::NotAddress)),
        }
    }
}

fn split(text: &str) -> Option<HealthAddr> {
    let (host, port) = text.rsplit_once(':')?;
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(HealthAddr {
        host: unbracketed(host)?.to_owned(),
        port: port.parse().ok()?,
    })
}

impl fmt::Display for HealthAddr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.as_str() {
            host if host.contains(':') => write!(formatter, "[{host}]:{}", self.port),
            host => write!(formatter, "{host}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port_or_a_port_alone() {
        for text in [
            ":8080",
            ":0",
            "127.0.0.1:0",
            "localhost:9",
            "[::1]:8080",
            "[fe80::1%eth0]:80",
            ":65535",
        ] {
            let addr = HealthAddr::parse(text).unwrap().unwrap();
            assert_eq!(addr.to_string(), text);
        }
        let addr = HealthAddr::parse("[::1]:8080").unwrap().unwrap();
        assert_eq!((addr.host.as_str(), addr.port), ("::1", 8080));
        assert_eq!(HealthAddr::parse(":8080").unwrap().unwrap().host, "");
    }

    #[test]
    fn an_empty_address_turns_the_probes_off() {
        assert_eq!(HealthAddr::parse(""), Ok(None));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            " ",
            "8080",
            "localhost",
            "127.0.0.1:",
            ":",
            ":65536",
            ":-1",
            ":+80",
            ":http",
            "::1:80",
            "[::1]",
            "[x]:80",
            "[::1:80",
            "a b:80",
            "http://x:80",
            ":80 ",
        ] {
            assert!(HealthAddr::parse(text).is_err(), "{text:?}");
        }
    }
}
