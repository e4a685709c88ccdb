//! The node agent's addresses. A name's look-up cannot be stopped, and takes half a minute where the resolver does
//! not answer: so it has a thread of its own, and all who ask meanwhile share it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The addresses of one host and port.
#[derive(Debug)]
pub(super) enum Lookup {
    Address(SocketAddr),
    Name(Arc<Name>),
}

impl Lookup {
    pub(super) fn new(host: &str, port: u16) -> Self {
        match host.parse::<IpAddr>() {
            Ok(address) => Self::Address((address, port).into()),
            Err(_) => {
                let name = (host.to_owned(), port);
                Self::Name(Name::new(move || Ok(name.to_socket_addrs()?.collect())))
            }
        }
    }

    /// The addresses; a name's are waited for no longer than `patience`.
    pub(super) fn get(&self, patience: Duration) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::Address(address) => Ok(vec![*address]),
            Self::Name(name) => name.look_up(patience),
        }
    }
}

/// A name, and how it is looked up.
pub(super) struct Name {
    resolve: Box<dyn Fn() -> io::Result<Vec<SocketAddr>> + Send + Sync>,
    state: Mutex<State>,
    finished: Condvar,
}

struct State {
    under_way: bool,
    /// How many look-ups have finished, by which those who wait tell a new one's end from an old one's.
    finished: u64,
    /// What the last one found, or its error's text.
    found: Result<Vec<SocketAddr>, String>,
}

impl Name {
    fn new(resolve: impl Fn() -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> Arc<Self> {
        let state = State {
            under_way: false,
            finished: 0,
            found: Ok(Vec::new()),
        };
        Arc::new(Self {
            resolve: Box::new(resolve),
            state: Mutex::new(state),
            finished: Condvar::new(),
        })
    }

    fn look_up(self: &Arc<Self>, patience: Duration) -> io::Result<Vec<SocketAddr>> {
        let mut state = self.state();
        if !state.under_way {
            let name = Arc::clone(self);
            thread::Builder::new()
                .name("lookup".into())
                .spawn(move || name.resolve())?;
            state.under_way = true;
        }
        let before = state.finished;
        let (state, waited) = self
            .finished
            .wait_timeout_while(state, patience, |state| state.finished == before)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        state.found.clone().map_err(io::Error::other)
    }

    fn resolve(&self) {
        let found = (self.resolve)().map_err(|error| error.to_string());
        let mut state = self.state();
        state.under_way = false;
        state.finished += 1;
        state.found = found;
        self.finished.notify_all();
    }

    // Each change is made whole, so a lock poisoned by a panic is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Name")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 80);

    #[test]
    fn an_address_needs_no_look_up() {
        for (host, found) in [("10.0.0.1", "10.0.0.1:80"), ("::1", "[::1]:80")] {
            let lookup = Lookup::new(host, 80);
            assert!(matches!(lookup, Lookup::Address(_)));
            assert_eq!(
                lookup.get(Duration::ZERO).unwrap(),
                [found.parse().unwrap()]
            );
        }
    }

    #[test]
    fn a_name_is_looked_up_anew_for_each_who_asks() {
        let answers = Mutex::new(vec![Err(io::Error::other("as tested")), Ok(vec![ADDRESS])]);
        let name = Name::new(move || answers.lock().unwrap().pop().unwrap());
        let patience = Duration::from_secs(60);
        assert_eq!(name.look_up(patience).unwrap(), [ADDRESS]);
        assert_eq!(name.look_up(patience).unwrap_err().to_string(), "as tested");
    }

    #[test]
    fn a_resolver_that_does_not_answer_keeps_one_thread_however_many_ask() {
        let (release, resolver) = channel::<()>();
        let (begun, looked_up) = channel();
        let resolver = Mutex::new(resolver);
        let name = Name::new(move || {
            begun.send(()).unwrap();
            let _ = resolver.lock().unwrap().recv();
            Ok(vec![ADDRESS])
        });
        for _ in 0..8 {
            let late = name.look_up(Duration::from_millis(1)).unwrap_err();
            assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        }
        drop(release);
        assert_eq!(name.look_up(Duration::from_secs(60)).unwrap(), [ADDRESS]);
        assert!(
            looked_up.try_iter().count() <= 2,
            "one for the eight, and one for the last if it came late"
        );
    }
}
