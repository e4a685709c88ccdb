//! `mock-node vectors`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use fake_runtime::cli::vectors::{Args, Outcome, Row};
use fake_runtime::cli::{Result, block_on};
use mock_node::vectors::{Case, Mismatch, Player, Verdict};

/// Plays the cases, and the rows of applied adjustments as `fake-runtime vectors` does.
pub(super) fn run(args: &Args, out: &mut dyn Write) -> Result {
    if let Some(checked) = args.check_kubelet(out) {
        return checked;
    }
    let rows = args.rows::<Box<Case>>()?;
    if args.plugin.is_none() && rows.iter().any(|row| matches!(row, Row::Case { .. })) {
        let message = "there are cases among the rows: give --plugin";
        return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, message).into());
    }
    let plugin = args.plugin.as_deref().map(absolute).transpose()?;
    let player = Player::new(plugin.unwrap_or_default());
    let player = args.jobs.map_or(player.clone(), |jobs| player.jobs(jobs));
    block_on(args.play(out, rows, |case| {
        let playing = player.start(*case);
        async { Ok(outcome(playing.await??)) }
    }))
}

/// The plugin is started in another directory.
fn absolute(plugin: &Path) -> Result<PathBuf> {
    let absolute = plugin.canonicalize();
    Ok(
        absolute
            .map_err(|error| format!("cannot find the plugin {}: {error}", plugin.display()))?,
    )
}

fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Passed => Outcome::Passed,
        Verdict::Skipped(why) => Outcome::Skipped(why),
        Verdict::Failed(Mismatch {
            expected,
            got,
            diff,
        }) => {
            let heads = format!("expected {expected}\ngot {got}\n");
            Outcome::Failed(heads + diff.as_deref().unwrap_or_default())
        }
    }
}
