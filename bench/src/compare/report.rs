//! The report: one page of HTML that needs nothing else, and the figures as JSON beside it.

mod html;
mod json;

use std::fs;

use anyhow::Result;

use super::{options::Options, results::Results, targets};

/// Writes both.
pub(crate) fn write(options: &Options, results: &Results) -> Result<()> {
    let targets = targets::all(results, options.largest());
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let about = format!(
        "1 KB documents, {} rounds of {} s in turns, medians of the rounds, {cores} cores. CPU is \
         that of the server and its children, for each operation; of writes until compaction is over.",
        options.rounds, options.seconds
    );
    if let Some(directory) = options.report.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&options.report, html::page(&about, results, &targets))?;
    let beside = options.report.with_extension("json");
    fs::write(&beside, json::text(&about, results, &targets))?;
    println!("\nreport: {}, figures: {}", options.report.display(), beside.display());
    Ok(())
}
