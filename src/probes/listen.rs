//! Listening on an address of Go's form, where an empty host is every address of both families.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};

use socket2::{Domain, Socket, Type};

const BACKLOG: i32 = 128;

/// Listens on `port` of `host`. Port 0 is any free one.
///
/// # Errors
///
/// When the address is in use, is none of this machine's, or does not resolve.
pub fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    if !host.is_empty() {
        return TcpListener::bind((host, port));
    }
    match listen_on_both_families(port) {
        // A kernel without IPv6.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            TcpListener::bind(("0.0.0.0", port))
        }
        listening => listening,
    }
}

/// One IPv6 socket that also takes IPv4, said outright because the system's default can be changed.
fn listen_on_both_families(port: u16) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, None)?;
    socket.set_only_v6(false)?;
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn no_host_is_every_address_of_both_families() {
        let listener = listen("", 0).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect(("127.0.0.1", port)).unwrap();
        TcpStream::connect(("::1", port)).unwrap();
    }

    #[test]
    fn a_host_is_that_address_alone() {
        let listener = listen("127.0.0.1", 0).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect(("127.0.0.1", port)).unwrap();
        TcpStream::connect(("::1", port)).unwrap_err();
    }

    #[test]
    fn an_address_in_use_is_an_error() {
        let taken = listen("127.0.0.1", 0).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(
            listen("127.0.0.1", port).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
        assert_eq!(
            listen("", port).unwrap_err().kind(),
            io::ErrorKind::AddrInUse
        );
    }
}
