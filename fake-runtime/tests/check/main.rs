//! `check` finds what a plugin does wrong, and nothing else.
//!
//! The wrong plugins are this binary itself, started with `--wrong` and what they do.

mod wrong_plugin;
mod wrong_socket;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser as _, ValueEnum as _};
use fake_runtime::check::{Check, Outcome, Subject};
use libtest_mimic::{Arguments, Failed, Trial};
use wrong_plugin::Wrong;

/// What each wrong plugin fails.
const FAILS: [(Wrong, &[Check]); 21] = [
    (Wrong::Nothing, &[]),
    (Wrong::Index, &[Check::Registration]),
    (Wrong::ConfigureLater, &[Check::ConfigureFirst]),
    (Wrong::SubscribesToAll, &[Check::Events]),
    (Wrong::ForgetsMore, &[Check::SplitSynchronize]),
    (Wrong::Ends, &[Check::Answers]),
    (Wrong::Late, &[Check::Deadline]),
    (Wrong::Stream, &[Check::Streams]),
    (Wrong::Panics, &[Check::SparseRequests]),
    (Wrong::Duplicates, &[Check::Duplicates]),
    (Wrong::Repeats, &[Check::Idempotence]),
    (Wrong::ShortBuffer, &[Check::LongRequests]),
    (Wrong::LongFrame, &[Check::LongAnswers]),
    (
        Wrong::OneFrame,
        &[
            Check::SplitSynchronize,
            Check::Answers,
            Check::LongRequests,
            Check::SplitFrames,
        ],
    ),
    (Wrong::WholeHeaders, &[Check::TinyFrames]),
    (Wrong::AnswersAnything, &[Check::UnknownMethods]),
    (Wrong::KnownConnections, &[Check::UnknownFrames]),
    (Wrong::IgnoresClose, &[Check::Close]),
    (Wrong::IgnoresHalfClose, &[Check::HalfClose]),
    (Wrong::ForgetsName, &[Check::Restart]),
    (
        Wrong::PanicsOverGarbage,
        &[Check::Garbage, Check::OversizedFrame],
    ),
];

/// The command line of a wrong plugin.
#[derive(clap::Parser)]
struct Plugin {
    #[arg(long)]
    wrong: Wrong,
    #[arg(long)]
    socket_path: PathBuf,
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--wrong") {
        let Plugin { wrong, socket_path } = Plugin::parse();
        block_on(wrong_plugin::play(wrong, &socket_path));
        return ExitCode::SUCCESS;
    }
    let trials = FAILS.map(|(wrong, checks)| {
        let name = name(wrong);
        Trial::test(
            format!("a_plugin_that_does_wrong_{name}_fails_what_it_should"),
            move || block_on(fails(wrong, checks)),
        )
    });
    let mut arguments = Arguments::from_args();
    // They wait much more than they compute.
    arguments.test_threads.get_or_insert(FAILS.len());
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime starts").block_on(future)
}

fn name(wrong: Wrong) -> String {
    let value = wrong.to_possible_value().expect("no variant is skipped");
    value.get_name().to_owned()
}

/// Makes every check, and expects just these to fail.
async fn fails(wrong: Wrong, expected: &[Check]) -> Result<(), Failed> {
    let this = std::env::current_exe()?;
    let mut seen = Vec::new();
    let mut failed = Vec::new();
    for check in Check::ALL {
        // Only who would let all the time pass is given little: on a busy machine, seconds go by over a long inventory,
        // or until a panic is printed with its backtrace.
        let request_timeout = Duration::from_secs(match (wrong, check) {
            (Wrong::ForgetsMore | Wrong::OneFrame, _) => 1,
            (Wrong::Late | Wrong::Stream, Check::SplitSynchronize) => 20,
            (Wrong::Late | Wrong::Stream | Wrong::ConfigureLater, _) => 1,
            _ => 20,
        });
        let patience = Duration::from_secs(match wrong {
            Wrong::Index | Wrong::ForgetsMore | Wrong::OneFrame => 2,
            Wrong::IgnoresClose | Wrong::IgnoresHalfClose => 2,
            _ => 60,
        });
        let subject = Subject::new(this.clone())
            .args(["--wrong", &name(wrong)])
            .request_timeout(request_timeout)
            .patience(patience);
        let outcome = check.run(&subject).await;
        if matches!(outcome, Outcome::Failed(_)) {
            failed.push(check);
        }
        seen.push(format!("{check}: {outcome:?}"));
    }
    if failed == expected {
        return Ok(());
    }
    Err(format!("expected {expected:?} to fail:\n{}", seen.join("\n")).into())
}
