//! The node agent's URL and lock, which stand together or not at all.

use std::fmt;

use http::Uri;
use http::uri::{Authority, Scheme};

use super::error::{Cause, ConfigError};
use super::host::unbracketed;
use super::values::filled;
use crate::path::AbsolutePath;

const URL: &str = "agent-staged-url";
const LOCK: &str = "staging-lock-path";

/// What is asked before a container is adjusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagingGate {
    /// Where the node agent answers 200 when the tree is staged.
    pub url: AgentUrl,
    /// Held exclusively by the node agent while it changes the tree. Never inside the overlay.
    pub lock_path: AbsolutePath,
}

/// An `http` URL, in the parts that a request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentUrl {
    /// A name or an address, without brackets; never empty.
    pub host: String,
    /// The port, 80 when the URL has none.
    pub port: u16,
    /// The path and the query; at least `/`.
    pub path: String,
}

impl StagingGate {
    /// Reads both flags; neither is no gate.
    pub(super) fn resolve(
        url: Option<String>,
        lock_path: Option<String>,
        overlay: &AbsolutePath,
    ) -> Result<Option<Self>, ConfigError> {
        let half = |given, missing| Err(ConfigError::HalfGate { given, missing });
        match (filled(url), filled(lock_path)) {
            (None, None) => Ok(None),
            (Some(_), None) => half(URL, LOCK),
            (None, Some(_)) => half(LOCK, URL),
            (Some(url), Some(lock_path)) => Ok(Some(Self {
                url: AgentUrl::parse(&url)?,
                lock_path: outside(overlay, &lock_path)?,
            })),
        }
    }
}

fn outside(overlay: &AbsolutePath, text: &str) -> Result<AbsolutePath, ConfigError> {
    let refused = |cause| Err(ConfigError::invalid(LOCK, text, cause));
    match AbsolutePath::new(text) {
        None => refused(Cause::Relative),
        Some(path) if overlay.contains(&path) => refused(Cause::LockInOverlay {
            overlay: overlay.clone(),
        }),
        Some(path) => Ok(path),
    }
}

impl AgentUrl {
    fn parse(text: &str) -> Result<Self, ConfigError> {
        let refused = |fault| Err(ConfigError::invalid(URL, text, Cause::AgentUrl { fault }));
        let Ok(url) = text.parse::<Uri>() else {
            return refused("not a URL");
        };
        if let Some((user, _)) = url.authority().and_then(|it| it.as_str().rsplit_once('@')) {
            // The line ends up in logs, where a password has no place.
            let text = text.replacen(&format!("{user}@"), "...@", 1);
            let fault = "the node agent is asked without user and password";
            return Err(ConfigError::invalid(URL, &text, Cause::AgentUrl { fault }));
        }
        if url.scheme() != Some(&Scheme::HTTP) {
            return refused("not an http URL");
        }
        let host = url.host().unwrap_or_default();
        if host.is_empty() {
            return refused("no host");
        }
        let Some(host) = unbracketed(host) else {
            return refused("no such host");
        };
        let Some(port) = url.authority().and_then(port) else {
            return refused("no such port");
        };
        Ok(Self {
            host: host.to_owned(),
            port,
            path: url.query().map_or_else(
                || url.path().to_owned(),
                |query| format!("{}?{query}", url.path()),
            ),
        })
    }
}

/// The port, or 80. The parser lets every other text pass, and then acts as if there were no port.
fn port(authority: &Authority) -> Option<u16> {
    match authority.as_str().strip_prefix(authority.host())? {
        "" | ":" => Some(80),
        port => authority
            .port_u16()
            .filter(|number| port == format!(":{number}")),
    }
}

impl fmt::Display for AgentUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, path } = self;
        match host.contains(':') {
            true => write!(formatter, "http://[{host}]:{port}{path}"),
            false => write!(formatter, "http://{host}:{port}{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(url: &str, lock_path: &str) -> Result<Option<StagingGate>, String> {
        let overlay = AbsolutePath::new("/var/lib/nvml-mock").unwrap();
        StagingGate::resolve(Some(url.to_owned()), Some(lock_path.to_owned()), &overlay)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn neither_flag_is_no_gate() {
        assert_eq!(resolve("", ""), Ok(None));
    }

    #[test]
    fn one_flag_needs_the_other() {
        assert_eq!(
            resolve("http://agent/stagedz", "").unwrap_err(),
            "--agent-staged-url needs --staging-lock-path: \
             the staging gate is the node agent's URL and its lock together"
        );
        assert_eq!(
            resolve("", "/run/lock").unwrap_err(),
            "--staging-lock-path needs --agent-staged-url: \
             the staging gate is the node agent's URL and its lock together"
        );
    }

    #[test]
    fn an_http_url_with_a_host_is_taken() {
        for (url, meaning) in [
            (
                "http://127.0.0.1:8080/stagedz",
                "http://127.0.0.1:8080/stagedz",
            ),
            ("http://agent", "http://agent:80/"),
            ("HTTP://agent/", "http://agent:80/"),
            ("http://agent?deep", "http://agent:80/?deep"),
            (
                "http://[::1]:65535/stagedz?x=y",
                "http://[::1]:65535/stagedz?x=y",
            ),
            ("http://agent:/", "http://agent:80/"),
            ("http://agent:0/", "http://agent:0/"),
        ] {
            let gate = resolve(url, "/run/lock").unwrap().unwrap();
            assert_eq!(gate.url.to_string(), meaning);
        }
    }

    #[test]
    fn any_other_url_would_keep_the_gate_closed_for_ever_and_is_refused() {
        for (url, fault) in [
            ("ftp://agent/x", "not an http URL"),
            ("https://agent/x", "not an http URL"),
            ("unix:///x", "not a URL"),
            ("/stagedz", "not an http URL"),
            ("127.0.0.1:1", "not an http URL"),
            ("u", "not an http URL"),
            ("::", "not a URL"),
            ("http://", "not a URL"),
            ("http:///x", "not a URL"),
            ("http://:80/", "no host"),
            ("http://[::1", "not a URL"),
            ("http://[A%1]:1/", "no such host"),
            ("http://[agent]/", "no such host"),
            ("http://agent:1 /", "not a URL"),
            ("http://agent:99999/", "no such port"),
            ("http://agent:x/", "no such port"),
            ("http://agent:080/", "no such port"),
            ("http://[::1]:99999/", "no such port"),
        ] {
            let line =
                format!("invalid --agent-staged-url {url:?}: {fault}, use http://host:port/path");
            assert_eq!(resolve(url, "/run/lock"), Err(line));
        }
    }

    #[test]
    fn a_user_in_the_url_would_not_be_sent_and_is_refused_without_the_password() {
        for (url, shown) in [
            ("http://user:word@agent:81/", "http://...@agent:81/"),
            ("http://h@agent/", "http://...@agent/"),
            ("http://a@b:word@agent/@", "http://...@agent/@"),
            ("http://@agent/", "http://...@agent/"),
            ("https://user:word@agent/", "https://...@agent/"),
        ] {
            let line = format!(
                "invalid --agent-staged-url {shown:?}: the node agent is asked without user and password, \
                 use http://host:port/path"
            );
            assert_eq!(resolve(url, "/run/lock"), Err(line));
        }
    }

    #[test]
    fn an_overlay_with_a_line_break_in_its_path_is_named_on_one_line() {
        let overlay = AbsolutePath::new("/a\nb").unwrap();
        let url = Some("http://agent".to_owned());
        let refused = StagingGate::resolve(url, Some("/a\nb/lock".to_owned()), &overlay);
        let line = refused.unwrap_err().to_string();
        assert!(line.contains(r"inside the overlay /a\nb, so"), "{line}");
    }

    #[test]
    fn the_lock_is_absolute_and_outside_the_overlay() {
        let gate = resolve("http://agent", "/var/lib/nvml-mock-lock/../lock/")
            .unwrap()
            .unwrap();
        assert_eq!(gate.lock_path.as_str(), "/var/lib/lock");
        assert_eq!(
            resolve("http://agent", "run/lock").unwrap_err(),
            r#"invalid --staging-lock-path "run/lock": not an absolute path, start it with /: programs with other working directories read it too"#
        );
        for path in [
            "/var/lib/nvml-mock",
            "/var/lib/nvml-mock/lock",
            "/var/lib/x/../nvml-mock/lock",
        ] {
            assert_eq!(
                resolve("http://agent", path).unwrap_err(),
                format!(
                    "invalid --staging-lock-path {path:?}: inside the overlay /var/lib/nvml-mock, \
                     so that every container could hold the lock; put it elsewhere"
                )
            );
        }
    }
}
