//! All figures, those of each round too.

use crate::compare::{figures::Figures, results::Results, targets::Target};

/// The whole file.
pub(crate) fn text(about: &str, results: &Results, targets: &[Target]) -> String {
    let outcomes = results.outcomes.iter().map(|outcome| {
        let cell = outcome.cell;
        let rounds = match &outcome.rounds {
            Ok(rounds) => {
                let rounds: Vec<String> = rounds.iter().map(round).collect();
                format!(r#""rounds":[{}]"#, rounds.join(","))
            }
            Err(reason) => format!(r#""error":{}"#, quote(reason)),
        };
        format!(
            r#"{{"workload":"{}","documents":{},"connections":{},"transport":"{}","server":"{}",{rounds}}}"#,
            cell.workload.name(),
            cell.documents,
            cell.connections,
            cell.transport.name(),
            outcome.who.name(),
        )
    });
    let singles = results.singles.iter().map(|single| {
        let (name, unit) = (quote(&single.name), quote(single.unit));
        let (group, value) = (single.group, number(single.value));
        format!(r#"{{"group":"{group}","name":{name},"value":{value},"unit":{unit}}}"#)
    });
    let targets = targets.iter().map(|target| {
        let value = target.value.map_or_else(|| "null".to_owned(), number);
        let (text, wish, verdict) = (quote(&target.text), quote(&target.wish()), target.verdict());
        format!(r#"{{"text":{text},"value":{value},"target":{wish},"verdict":"{verdict}"}}"#)
    });
    let notes = results.notes.iter().map(|note| quote(note));
    format!(
        "{{\"about\":{},\n\"outcomes\":[\n{}\n],\n\"singles\":[\n{}\n],\n\"targets\":[\n{}\n],\n\
         \"notes\":[\n{}\n]}}\n",
        quote(about),
        lines(outcomes),
        lines(singles),
        lines(targets),
        lines(notes)
    )
}

fn lines(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(",\n")
}

fn round(figures: &Figures) -> String {
    format!(
        r#"{{"per_second":{},"p50_ms":{},"p99_ms":{},"cpu_us":{},"operations":{}}}"#,
        number(figures.per_second),
        number(figures.p50_ms),
        number(figures.p99_ms),
        number(figures.cpu_us),
        number(figures.operations)
    )
}

/// JSON knows no infinity.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_owned() }
}

fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            letter if u32::from(letter) < 0x20 => out.push(' '),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted() {
        assert_eq!(quote("a\"b\\c\nd µ"), r#""a\"b\\c d µ""#);
        assert_eq!(number(f64::INFINITY), "null");
        assert_eq!(number(1.5), "1.5");
    }
}
