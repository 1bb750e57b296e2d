//! The tables of ratios that a run ends with: like is compared with like.

use super::{
    competitor::Who::{
        self, Cosmium, Ferret, Floor, Postgres, PostgresOrdered, RawAppend, RawStore, SheafDisk,
        SheafMemory, Vercel,
    },
    figures::Figures,
    results::{Cell, Results},
};

/// Whose figures are divided by whose. Those who keep all in memory are compared with Sheaf in memory,
/// those who write to the disk with Sheaf on disk.
const PAIRS: [(&str, Who, Who); 9] = [
    ("m/floor", SheafMemory, Floor),
    ("d/floor", SheafDisk, Floor),
    ("m/vercel", SheafMemory, Vercel),
    ("m/cosmium", SheafMemory, Cosmium),
    ("d/pg", SheafDisk, Postgres),
    ("d/pg-btree", SheafDisk, PostgresOrdered),
    ("d/ferretdb", SheafDisk, Ferret),
    ("d/store", SheafDisk, RawStore),
    ("d/append", SheafDisk, RawAppend),
];

/// A figure, what it is, and how many decimals it is shown with.
type Column = (&'static str, fn(&Figures) -> f64, usize);

const COLUMNS: [Column; 4] = [
    ("CPU µs of an operation", |it| it.cpu_us, 1),
    ("operations per second", |it| it.per_second, 0),
    ("p50 ms", |it| it.p50_ms, 3),
    ("p99 ms", |it| it.p99_ms, 3),
];

/// What is divided, if both are known.
fn ratio(of: Option<Figures>, to: Option<Figures>, figure: fn(&Figures) -> f64) -> Option<f64> {
    let (of, to) = (figure(&of?), figure(&to?));
    (to > 0.0).then_some(of / to)
}

/// Prints all of them.
pub(crate) fn print(results: &Results) {
    for (title, figure, decimals) in COLUMNS {
        println!("\n{title}: Sheaf's in memory (m) and on disk (d), and as a multiple of others'");
        print!("{:26} {:>9} {:>9} {:>9}", "", "documents", "m", "d");
        for (name, _, _) in PAIRS {
            print!(" {name:>10}");
        }
        println!();
        for cell in results.cells() {
            println!("{}", line(results, &cell, figure, decimals));
        }
    }
}

fn line(results: &Results, cell: &Cell, figure: fn(&Figures) -> f64, decimals: usize) -> String {
    let dash = || "-".to_owned();
    let own = |who| {
        let value = results.figures(cell, who).map(|it| figure(&it));
        value.map_or_else(dash, |value| format!("{value:.decimals$}"))
    };
    let (title, documents) = (cell.title(), cell.documents);
    let (memory, disk) = (own(SheafMemory), own(SheafDisk));
    let ratios = PAIRS.map(|(_, of, to)| {
        let ratio = ratio(results.figures(cell, of), results.figures(cell, to), figure);
        let text = ratio.map_or_else(dash, |ratio| format!("{ratio:.3}x"));
        format!(" {text:>10}")
    });
    format!("{title:26} {documents:>9} {memory:>9} {disk:>9}{}", ratios.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{client::Transport, results::Outcome, workload::Workload};

    #[test]
    fn a_line_has_what_is_known() {
        let (workload, transport) = (Workload::PointRead, Transport::Plain);
        let cell = Cell { workload, connections: 64, transport, documents: 1000 };
        let mut results = Results::default();
        for (who, cpu_us) in [(SheafMemory, 15.0), (Vercel, 30.0)] {
            let rounds = Ok(vec![Figures { cpu_us, ..Figures::default() }]);
            results.outcomes.push(Outcome { cell, who, rounds });
        }
        let line = line(&results, &cell, |it| it.cpu_us, 1);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..5], ["point-read", "x64", "1000", "15.0", "-"]);
        assert_eq!(words[5..9], ["-", "-", "0.500x", "-"]);
    }
}
