//! The measurements as a table.

use std::io::{self, Write};

use serde::Serialize;

use super::Row;
use super::case::MAIN;

/// What is read off the main case besides its ratio.
#[derive(Debug, Serialize)]
pub(super) struct Total {
    what: &'static str,
    value: f64,
    unit: &'static str,
    goal: f64,
    pub(super) met: bool,
}

pub(super) fn totals(rows: &[Row]) -> Vec<Total> {
    let Some(main) = rows.iter().find(|row| row.case.name == MAIN) else {
        return Vec::new();
    };
    let megabytes = |kib: u64| kib as f64 * 1024.0 / 1e6;
    [
        (
            "processor time of raw, to its floor's p50",
            main.plugin.cpu_us / main.floor.p50_us,
            "",
            1.1,
        ),
        ("memory when idle", megabytes(main.idle_kib), " MB", 4.0),
        (
            "memory after the requests of raw",
            megabytes(main.plugin.rss_kib),
            " MB",
            4.5,
        ),
    ]
    .map(|(what, value, unit, goal)| Total {
        what,
        value,
        unit,
        goal,
        met: value <= goal,
    })
    .into()
}

pub(super) fn row(out: &mut dyn Write, row: &Row, is_first: bool) -> io::Result<()> {
    if is_first {
        writeln!(
            out,
            "{:<20}{:>9}{:>9}{:>9}{:>9}{:>8}{:>7}{:>8}  against",
            "µs", "p50", "p99", "least", "floor", "ratio", "goal", ""
        )?;
    }
    let goal = row
        .case
        .goal
        .map_or(String::new(), |goal| format!("{goal:.1}"));
    let met = match row.met {
        Some(true) => "met",
        Some(false) => "MISSED",
        None => "",
    };
    let against = row.against.as_ref().map_or(String::new(), |against| {
        let ratio = row.plugin.ratio_to(against);
        format!("{:.1} ({ratio:.2})", against.least_us())
    });
    let (plugin, floor) = (&row.plugin, &row.floor);
    let line = format!(
        "{:<20}{:>9.1}{:>9.1}{:>9.1}{:>9.1}{:>8.2}{goal:>7}{met:>8}  {against}",
        row.case.name,
        plugin.p50_us,
        plugin.p99_us,
        plugin.least_us(),
        floor.least_us(),
        row.ratio
    );
    writeln!(out, "{}", line.trim_end())
}

pub(super) fn end(out: &mut dyn Write, totals: &[Total]) -> io::Result<()> {
    for Total {
        what,
        value,
        unit,
        goal,
        met,
    } in totals
    {
        let met = if *met { "met" } else { "MISSED" };
        writeln!(
            out,
            "{what:<48}{value:>10.2}{unit:<3}  goal {goal:.1}{unit}  {met}"
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use fake_runtime::bench::Cost;

    use super::super::case;
    use super::*;

    fn cost(us: f64) -> Cost {
        Cost {
            requests: 1,
            p50_us: us,
            p90_us: us,
            p99_us: us,
            p999_us: us,
            max_us: us,
            per_second: 1.0,
            cpu_us: us,
            rss_kib: 4000,
            peak_rss_kib: 4000,
            rounds_us: vec![us],
        }
    }

    #[test]
    fn a_goal_that_is_missed_is_said_to_be() {
        let case = case::all().remove(0);
        let row = Row {
            case,
            plugin: cost(30.0),
            floor: cost(20.0),
            against: Some(cost(60.0)),
            ratio: 1.5,
            registered_us: 1000.0,
            idle_kib: 3900,
            met: Some(false),
        };
        let mut out = Vec::new();
        super::row(&mut out, &row, false).unwrap();
        let totals = totals(&[row]);
        end(&mut out, &totals).unwrap();
        let expected = "\
raw                      30.0     30.0     30.0     20.0    1.50    1.3  MISSED  60.0 (0.50)
processor time of raw, to its floor's p50             1.50     goal 1.1  MISSED
memory when idle                                      3.99 MB  goal 4.0 MB  met
memory after the requests of raw                      4.10 MB  goal 4.5 MB  met
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert!(!totals[0].met);
    }
}
