//! The time by the number of staged nodes, as a picture.

use std::fmt::Write as _;

use super::Row;
use super::case::{Size, Surface};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const MARGIN: f64 = 60.0;

/// A line for the plugin and one for its floor, both axes by powers of ten.
pub(super) fn plot(rows: &[Row]) -> String {
    let mut rows: Vec<&Row> = rows
        .iter()
        .filter(|Row { case, .. }| {
            case.surface == Surface::Raw
                && case.size == Size::Ordinary
                && case.pinned
                && case.gap_ms == 0
        })
        .collect();
    rows.sort_by_key(|row| row.case.nodes);
    let x = |nodes: u32| MARGIN + f64::from(nodes).log10() / 3.0 * (WIDTH - 2.0 * MARGIN);
    // From 10 µs to 10 ms.
    let y = |us: f64| HEIGHT - MARGIN - (us.log10() - 1.0) / 3.0 * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut text = |x: f64, y: f64, anchor: &str, text: &str| {
        let _ = writeln!(
            svg,
            "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    };
    for nodes in [1, 10, 100, 1000] {
        text(
            x(nodes),
            HEIGHT - MARGIN + 20.0,
            "middle",
            &nodes.to_string(),
        );
    }
    for (us, label) in [
        (10.0, "10 µs"),
        (100.0, "100 µs"),
        (1e3, "1 ms"),
        (1e4, "10 ms"),
    ] {
        text(MARGIN - 8.0, y(us) + 4.0, "end", label);
    }
    text(WIDTH / 2.0, HEIGHT - 10.0, "middle", "staged device nodes");
    let mut line = |name: &str, colour: &str, at: f64, of: &dyn Fn(&Row) -> f64| {
        let points: Vec<_> = rows
            .iter()
            .map(|row| format!("{:.0},{:.0}", x(row.case.nodes), y(of(row))))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{}\" y=\"{at}\" fill=\"{colour}\">{name}</text>",
            points.join(" "),
            MARGIN + 10.0
        );
    };
    line("nri-plugin", "#1f77b4", MARGIN, &|row| row.plugin.p50_us);
    line("floor", "#7f7f7f", MARGIN + 16.0, &|row| row.floor.p50_us);
    svg.push_str("</svg>\n");
    svg
}
