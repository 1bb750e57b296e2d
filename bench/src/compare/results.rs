//! All that a run has measured, from which the tables, the report and the targets are made.

use super::{client::Transport, competitor::Who, figures::Figures, workload::Workload};

/// One line of the plan: what is measured, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) workload: Workload,
    pub(crate) connections: usize,
    pub(crate) transport: Transport,
    pub(crate) documents: usize,
}

impl Cell {
    /// As people read it.
    pub(crate) fn title(&self) -> String {
        let how = match self.transport {
            Transport::Plain => String::new(),
            other => format!(", {}", other.name()),
        };
        format!("{} x{}{how}", self.workload.name(), self.connections)
    }
}

/// What came of a cell for one server.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) cell: Cell,
    pub(crate) who: Who,
    /// All rounds, or why there are none.
    pub(crate) rounds: Result<Vec<Figures>, String>,
}

/// A figure that stands for itself.
#[derive(Clone, Debug)]
pub(crate) struct Single {
    /// What it belongs to.
    pub(crate) group: &'static str,
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) singles: Vec<Single>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

impl Results {
    /// The median of a cell's rounds.
    pub(crate) fn figures(&self, cell: &Cell, who: Who) -> Option<Figures> {
        let outcome = self.outcomes.iter().find(|it| it.cell == *cell && it.who == who)?;
        Figures::median(outcome.rounds.as_deref().ok()?)
    }

    /// All cells, in the order in which they were measured.
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for outcome in &self.outcomes {
            if !cells.contains(&outcome.cell) {
                cells.push(outcome.cell);
            }
        }
        cells
    }

    /// Notes a figure, and prints it.
    pub(crate) fn add(
        &mut self,
        group: &'static str,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
    ) {
        let name = name.into();
        println!("{group:12} {name:52} {value:12.3} {unit}");
        self.singles.push(Single { group, name, value, unit });
    }

    /// A figure that stands for itself, by its name.
    pub(crate) fn single(&self, group: &str, name: &str) -> Option<f64> {
        self.singles.iter().find(|it| it.group == group && it.name == name).map(|it| it.value)
    }

    /// Notes and prints what is missing.
    pub(crate) fn note(&mut self, text: String) {
        println!("{text}");
        self.notes.push(text);
    }

    /// What fails is noted, and the rest is measured still.
    pub(crate) fn note_failure(&mut self, what: &str, outcome: anyhow::Result<()>) {
        if let Err(error) = outcome {
            self.note(format!("{what}: not measured, or not all of it: {error:#}"));
        }
    }
}
