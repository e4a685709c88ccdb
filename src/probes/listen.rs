//! Listening on an address of Go's form, where an empty host is every address of both families.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::config::HealthAddr;

const BACKLOG: i32 = 128;

/// Listens at `address`.
///
/// # Errors
///
/// When the address is in use, is none of this machine's, or does not resolve.
pub fn listen(address: &HealthAddr) -> io::Result<TcpListener> {
    let HealthAddr { host, port } = address;
    if host.is_empty() {
        listen_on_both_families(*port)
    } else {
        TcpListener::bind((host.as_str(), *port))
    }
}

/// One IPv6 socket that also takes IPv4, said outright because the system's default can be changed.
fn listen_on_both_families(port: u16) -> io::Result<TcpListener> {
    let (family, flags) = (AddressFamily::INET6, SocketFlags::CLOEXEC);
    let Ok(socket) = net::socket_with(family, SocketType::STREAM, flags, None) else {
        // A kernel without IPv6.
        return TcpListener::bind((Ipv4Addr::UNSPECIFIED, port));
    };
    sockopt::set_ipv6_v6only(&socket, false)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    net::bind(&socket, &SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))?;
    net::listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    fn listen_at(host: &str, port: u16) -> io::Result<TcpListener> {
        listen(&HealthAddr {
            host: host.to_owned(),
            port,
        })
    }

    #[test]
    fn no_host_is_every_address_of_both_families() {
        let listener = listen_at("", 0).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect(("127.0.0.1", port)).unwrap();
        TcpStream::connect(("::1", port)).unwrap();
    }

    #[test]
    fn a_host_is_that_address_alone() {
        let listener = listen_at("127.0.0.1", 0).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect(("127.0.0.1", port)).unwrap();
        TcpStream::connect(("::1", port)).unwrap_err();
    }

    #[test]
    fn an_address_in_use_is_an_error() {
        let taken = listen_at("127.0.0.1", 0).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(
            listen_at("127.0.0.1", port).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        assert_eq!(
            listen_at("", port).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
    }
}
