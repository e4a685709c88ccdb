//! What a process printed, line by line, as something that can be waited for.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::watch;
use tokio::time::timeout;

/// Far longer than anything that is waited for takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Every line so far.
#[derive(Clone, Debug)]
pub struct Log {
    lines: watch::Receiver<Vec<String>>,
    /// Where the waiting starts.
    from: usize,
}

impl Log {
    /// Follows these outputs from now on, until they end.
    pub(crate) fn follow<const N: usize>(outputs: [Box<dyn AsyncRead + Unpin + Send>; N]) -> Self {
        let (sender, lines) = watch::channel(Vec::new());
        for output in outputs {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut output = BufReader::new(output).lines();
                while let Ok(Some(line)) = output.next_line().await {
                    sender.send_modify(|lines| lines.push(line));
                }
            });
        }
        Self { lines, from: 0 }
    }

    /// The same log without the lines that are there by now.
    #[must_use]
    pub fn from_now(&self) -> Self {
        Self {
            lines: self.lines.clone(),
            from: self.lines.borrow().len(),
        }
    }

    /// Waits for the first line that contains `text`.
    ///
    /// # Panics
    ///
    /// When none comes.
    pub async fn wait_for(&self, text: &str) -> String {
        let mut lines = self.lines.clone();
        let there = lines.wait_for(|lines| self.find_in(lines, text).is_some());
        let _ = timeout(PATIENCE, there).await;
        self.find(text)
            .unwrap_or_else(|| panic!("`{text}` never came; the log is\n{self}"))
    }

    /// The first line that contains `text`, of those that are there.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<String> {
        self.find_in(&self.lines.borrow(), text).cloned()
    }

    fn find_in<'l>(&self, lines: &'l [String], text: &str) -> Option<&'l String> {
        lines[self.from..].iter().find(|line| line.contains(text))
    }
}

impl std::fmt::Display for Log {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lines = self.lines.borrow();
        let lines = &lines[self.from..];
        lines
            .iter()
            .try_for_each(|line| writeln!(formatter, "{line}"))
    }
}
