//! The gate with a lock on a real file system and a node agent on a real socket.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fs::{CWD, FileType, mknodat};
use tempfile::TempDir;

use super::*;
use crate::config::AgentUrl;
use crate::path::AbsolutePath;

/// A node agent that gives every request the same answer. Returns its port.
fn agent(answer: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            let expected = format!(
                "GET /stagedz?a=b HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n"
            );
            assert_eq!(String::from_utf8(request).unwrap(), expected);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    port
}

fn gate(lock: &Path, port: u16) -> Gate {
    let url = AgentUrl {
        host: "127.0.0.1".into(),
        port,
        path: "/stagedz?a=b".into(),
    };
    let lock_path = AbsolutePath::new(lock.to_str().unwrap()).unwrap();
    Gate::new(&StagingGate { url, lock_path })
}

fn lock_file() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("staging.lock");
    File::create(&lock).unwrap();
    (dir, lock)
}

fn reason(gate: &Gate) -> String {
    gate.enter(LONG).unwrap_err().to_string()
}

const LONG: Duration = Duration::from_secs(60);

const STAGED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[test]
fn an_open_gate_holds_the_lock_shared_until_it_is_left() {
    let (_dir, lock) = lock_file();
    let gate = gate(&lock, agent(STAGED));
    let stager = File::open(&lock).unwrap();
    let first = gate.enter(LONG).unwrap();
    let second = gate.enter(LONG).unwrap();
    drop(first);
    assert!(matches!(stager.try_lock(), Err(TryLockError::WouldBlock)));
    drop(second);
    stager.try_lock().unwrap();
}

#[test]
fn a_staging_node_agent_closes_the_gate() {
    let (_dir, lock) = lock_file();
    let gate = gate(&lock, agent(STAGED));
    let stager = File::open(&lock).unwrap();
    stager.lock().unwrap();
    assert_eq!(reason(&gate), "node agent is staging");
    drop(stager);
    assert!(gate.enter(LONG).is_ok());
}

#[test]
fn a_lock_file_that_appears_later_opens_the_gate() {
    let (dir, _) = lock_file();
    let lock = dir.path().join("later.lock");
    let gate = gate(&lock, agent(STAGED));
    assert_eq!(
        reason(&gate),
        format!(
            "staging lock unavailable: {}: No such file or directory (os error 2)",
            lock.display()
        )
    );
    File::create(&lock).unwrap();
    assert!(gate.enter(LONG).is_ok());
}

#[test]
fn a_lock_that_was_a_fifo_once_closes_the_gate_only_as_long_as_it_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("staging.lock");
    mknodat(CWD, &lock, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let gate = gate(&lock, agent(STAGED));
    for _ in 0..8 {
        let closed = gate.enter(LONG).unwrap_err();
        assert_eq!(closed.kind(), "staging lock unavailable");
        assert!(
            closed
                .to_string()
                .ends_with("neither a file nor a directory"),
            "{closed}"
        );
    }
    std::fs::remove_file(&lock).unwrap();
    File::create(&lock).unwrap();
    assert!(gate.enter(LONG).is_ok());
}

#[test]
fn only_a_plain_200_opens_the_gate() {
    let (_dir, lock) = lock_file();
    for answer in [
        "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        let gate = gate(&lock, agent(answer));
        assert_eq!(reason(&gate), "node agent has not staged the driver tree");
    }
}

#[test]
fn an_answer_after_interim_ones_counts() {
    let (_dir, lock) = lock_file();
    let answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    assert!(gate(&lock, agent(answer)).enter(LONG).is_ok());
}

#[test]
fn an_agent_that_is_not_there_is_unreachable() {
    let (_dir, lock) = lock_file();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    assert_eq!(
        reason(&gate(&lock, port)),
        "node agent unreachable: Connection refused (os error 111)"
    );
}

#[test]
fn an_agent_that_answers_wrongly_is_unreachable() {
    let (_dir, lock) = lock_file();
    for (answer, cause) in [
        (
            "hello\r\n\r\n",
            "its answer is not HTTP: invalid HTTP version",
        ),
        ("", "it closed the connection without an answer"),
        (
            "HTTP/1.1 200 OK\r\n",
            "it closed the connection without an answer",
        ),
    ] {
        let gate = gate(&lock, agent(answer));
        assert_eq!(reason(&gate), format!("node agent unreachable: {cause}"));
    }
}

#[test]
fn an_agent_that_answers_without_an_end_is_not_read_to_it() {
    let (_dir, lock) = lock_file();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // Faster than it can be read, so that reading alone never waits.
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let not_yet = "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
        while stream.write_all(not_yet.as_bytes()).is_ok() {}
    });
    assert_eq!(
        reason(&gate(&lock, port)),
        "node agent unreachable: its answer is longer than 16384 bytes"
    );
}

#[test]
fn an_agent_that_is_silent_for_half_a_second_is_unreachable() {
    let (_dir, lock) = lock_file();
    // The kernel accepts, nobody answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = gate(&lock, listener.local_addr().unwrap().port());
    assert_eq!(
        reason(&gate),
        "node agent unreachable: no answer within 500ms"
    );
}

#[test]
fn an_agent_is_waited_for_no_longer_than_its_asker_can() {
    let (_dir, lock) = lock_file();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = gate(&lock, listener.local_addr().unwrap().port());
    let closed = gate.enter(Duration::from_millis(20)).unwrap_err();
    // What taking the lock took is no longer there for the agent.
    let told = closed.to_string();
    let within = told.strip_prefix("node agent unreachable: no answer within ");
    let within = within.and_then(|rest| rest.strip_suffix("ms")).unwrap();
    assert!(within.parse::<u32>().unwrap() < 20, "{told}");
}
