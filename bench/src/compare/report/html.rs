//! The page: targets, ratios, a table for each cell with bars, and what stands for itself.

use std::fmt::Write as _;

use crate::compare::{
    competitor::Who,
    results::{Cell, Results},
    targets::Target,
};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;\
padding:0 1rem;color:#1b1f24;background:#fff}h1,h2,h3{line-height:1.2}h3{margin-bottom:.3rem}\
table{border-collapse:collapse;margin:.3rem 0 1.5rem;width:100%}\
th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #e3e6ea;\
font-variant-numeric:tabular-nums}th{font-weight:600}th:first-child,td:first-child{text-align:left}\
td.left{text-align:left}td.bar{width:16rem}td.bar i{display:block;height:.8rem;background:#9aa5b1}\
tr.own td.bar i{background:#2364aa}tr.own td:first-child{font-weight:600}.met{color:#17692b}\
.missed{color:#a3180d;font-weight:600}.unknown{color:#667}\
@media(prefers-color-scheme:dark){body{color:#dde1e6;background:#15181c}\
th,td{border-color:#2c323a}.met{color:#6fcf87}.missed{color:#ff8a7d}}";

/// The whole page.
pub(crate) fn page(about: &str, results: &Results, targets: &[Target]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>Sheaf compared</title>\
         <style>{STYLE}</style></head><body>\n<h1>Sheaf compared</h1>\n<p>{}</p>\n",
        escape(about)
    );
    of_targets(&mut page, targets);
    page.push_str(
        "<h2>Workloads</h2>\n<p>A bar is CPU time for each operation: shorter is better. ",
    );
    page.push_str("The last column is that time as a multiple of Sheaf's on disk.</p>\n");
    for cell in results.cells() {
        of_cell(&mut page, results, &cell);
    }
    of_singles(&mut page, results);
    page.push_str("</body></html>\n");
    page
}

fn of_targets(page: &mut String, targets: &[Target]) {
    page.push_str("<h2>Targets</h2>\n<table><tr><th>What</th><th>Measured</th><th>Target</th>");
    page.push_str("<th></th></tr>\n");
    for target in targets {
        let class = match target.is_met() {
            Some(true) => "met",
            Some(false) => "missed",
            None => "unknown",
        };
        let cells = [&target.text, &target.figure(), &target.wish()].map(|text| escape(text));
        let [text, figure, wish] = cells;
        // A String takes everything, here and below.
        writeln!(
            page,
            "<tr><td>{text}</td><td>{figure}</td><td>{wish}</td><td class=\"{class}\">{}</td></tr>",
            target.verdict()
        )
        .ok();
    }
    page.push_str("</table>\n");
}

fn of_cell(page: &mut String, results: &Results, cell: &Cell) {
    let all: Vec<_> = results.outcomes.iter().filter(|it| it.cell == *cell).collect();
    let cpu = |who| results.figures(cell, who).map(|figures| figures.cpu_us);
    let longest = all.iter().filter_map(|it| cpu(it.who)).fold(0.0, f64::max);
    let disk = cpu(Who::SheafDisk);
    writeln!(
        page,
        "<h3>{}, {} documents</h3>\n<table><tr><th>Server</th><th>ops/s</th><th>p50 ms</th>\
         <th>p99 ms</th><th>CPU µs</th><th></th><th>of disk</th></tr>",
        escape(&cell.title()),
        cell.documents
    )
    .ok();
    for outcome in all {
        let (name, class) = (outcome.who.name(), if outcome.who.is_sheaf() { "own" } else { "" });
        let Some(it) = results.figures(cell, outcome.who) else {
            let reason = outcome.rounds.as_ref().err().map_or("", String::as_str);
            let reason = escape(reason);
            writeln!(
                page,
                "<tr><td>{name}</td><td class=\"left\" colspan=\"6\">not measured: {reason}</td></tr>"
            )
            .ok();
            continue;
        };
        let width = if longest > 0.0 { it.cpu_us / longest * 100.0 } else { 0.0 };
        let ratio = disk.filter(|disk| *disk > 0.0);
        let ratio =
            ratio.map_or_else(|| "-".to_owned(), |disk| format!("{:.2}x", it.cpu_us / disk));
        writeln!(
            page,
            "<tr class=\"{class}\"><td>{name}</td><td>{:.0}</td><td>{:.3}</td><td>{:.3}</td>\
             <td>{:.1}</td><td class=\"bar\"><i style=\"width:{width:.1}%\"></i></td>\
             <td>{ratio}</td></tr>",
            it.per_second, it.p50_ms, it.p99_ms, it.cpu_us
        )
        .ok();
    }
    page.push_str("</table>\n");
}

fn of_singles(page: &mut String, results: &Results) {
    page.push_str("<h2>Sizes, starts, memory, latency at half load</h2>\n<table>");
    page.push_str("<tr><th>What</th><th>Value</th><th>Unit</th></tr>\n");
    for single in &results.singles {
        let (name, unit) = (escape(&single.name), escape(single.unit));
        let (group, value) = (single.group, single.value);
        writeln!(
            page,
            "<tr><td>{group}: {name}</td><td>{value:.3}</td><td class=\"left\">{unit}</td></tr>"
        )
        .ok();
    }
    page.push_str("</table>\n");
    if !results.notes.is_empty() {
        page.push_str("<h2>Not measured</h2>\n<ul>\n");
        for note in &results.notes {
            writeln!(page, "<li>{}</li>", escape(note)).ok();
        }
        page.push_str("</ul>\n");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{
        client::Transport, figures::Figures, results::Outcome, targets, workload::Workload,
    };

    fn cell() -> Cell {
        let (workload, transport) = (Workload::Create, Transport::Tls);
        Cell { workload, connections: 64, transport, documents: 1000 }
    }

    #[test]
    fn a_page_shows_figures_ratios_and_what_is_missing() {
        let mut results = Results::default();
        let rounds = |cpu_us| Ok(vec![Figures { cpu_us, per_second: 1.0, ..Figures::default() }]);
        for (who, rounds) in [
            (Who::SheafDisk, rounds(50.0)),
            (Who::Vercel, rounds(100.0)),
            (Who::Cosmium, Err("no <TLS> & so on".to_owned())),
        ] {
            results.outcomes.push(Outcome { cell: cell(), who, rounds });
        }
        let page = page("about", &results, &targets::all(&results, 1000));
        assert!(page.contains("create x64, TLS, 1000 documents"));
        assert!(page.contains("2.00x") && page.contains("width:50.0%"));
        assert!(page.contains("no &lt;TLS&gt; &amp; so on"));
        assert_eq!(page.matches("<table>").count(), page.matches("</table>").count());
        assert!(!page.contains("<script"));
    }
}
