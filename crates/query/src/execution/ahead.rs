//! Reading ahead: several documents are read before the first of them is evaluated, so that their
//! calls of user-defined functions go to a worker together. Queries without such calls take one
//! document at a time.
//!
//! The reader adds documents while [`Ahead::is_hungry`], and otherwise takes the
//! [next](Ahead::next) one, for which the run then uses the answers of its calls.

use std::collections::VecDeque;

use bytes::Bytes;
use protocol::Error;
use sql::program::{Accumulator, Answers, Halt, Program, Question, Run, weight};
use value::{Value, json::Wanted};

use crate::execution::{
    functions::{Functions, Trouble},
    job::{Job, halted, parse},
};

/// Documents that are read ahead: few at first, since many queries stop early.
const FIRST_UNITS: usize = 32;
const UNITS_MAX: usize = 512;
const UNIT_BYTES_MAX: usize = 2 << 20;

/// Bytes of arguments that are collected before they are sent.
const ROUND_BYTES_MAX: usize = 8 << 20;

/// Bytes of answers that are kept for documents read ahead.
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// The unit of evaluation, with its own calls.
pub(crate) enum Unit<'a> {
    /// A stored document.
    Document(Bytes),
    /// A document in memory.
    Value(&'a Value),
    /// The keys and aggregates of a group.
    Group(&'a [Value], &'a [Accumulator]),
}

/// Documents or groups waiting for evaluation. `K` is the reader's key for them.
pub(crate) struct Ahead<'a, K> {
    program: &'a Program,
    /// The source of stored documents.
    job: Option<&'a Job<'a>>,
    /// Answers the calls; `None` if there are no calls.
    functions: Option<&'a Functions<'a>>,
    /// Whether the values of rows are needed, or only which rows there are.
    with_values: bool,
    pending: VecDeque<(K, Unit<'a>)>,
    pending_bytes: usize,
    ready: VecDeque<(K, Answers)>,
    /// How many units to read ahead.
    size: usize,
    /// Rows that were wanted at the last read.
    wanted: Option<usize>,
    is_filling: bool,
    is_ended: bool,
}

impl<'a, K> Ahead<'a, K> {
    /// For documents of the collection. Without `with_values`, rows are only counted or sorted.
    pub(crate) fn documents(job: &'a Job<'a>, with_values: bool) -> Self {
        let shape = job.program.shape();
        let asks = if with_values { !shape.functions.is_empty() } else { shape.calls_for_rows };
        let functions = asks.then_some(&*job.functions);
        Self { job: Some(job), with_values, ..Self::in_memory(job.program, functions) }
    }

    /// For values or groups.
    pub(crate) fn in_memory(program: &'a Program, functions: Option<&'a Functions<'a>>) -> Self {
        let functions = functions.filter(|_| !program.shape().functions.is_empty());
        Self {
            program,
            job: None,
            functions,
            with_values: true,
            pending: VecDeque::new(),
            pending_bytes: 0,
            ready: VecDeque::new(),
            size: 1,
            wanted: None,
            is_filling: false,
            is_ended: false,
        }
    }

    /// Whether there are no calls: then documents may be taken as they come.
    pub(crate) fn is_idle(&self) -> bool {
        self.functions.is_none()
    }

    /// Whether it needs another document. `wants` is how many rows are still wanted; a late page
    /// reads nothing more ahead.
    pub(crate) fn is_hungry(&mut self, wants: usize, is_late: impl FnOnce() -> bool) -> bool {
        if self.is_ended || !self.ready.is_empty() {
            return false;
        }
        if !self.is_filling && self.pending.is_empty() {
            self.is_filling = true;
            self.grow(wants);
        }
        self.is_filling
            && self.pending.len() < self.size
            && (self.pending.is_empty() || self.pending_bytes < UNIT_BYTES_MAX && !is_late())
    }

    /// Sets how many units to read ahead. If most units yield a row, it reads no more than the
    /// wanted rows and one more, which tells whether there are more.
    fn grow(&mut self, wants: usize) {
        let enough = wants.saturating_add(1);
        if self.functions.is_none() {
            return;
        }
        let Some(wanted) = self.wanted.replace(wants) else {
            self.size = FIRST_UNITS.min(enough);
            return;
        };
        let is_productive = wanted.saturating_sub(wants).saturating_mul(2) >= self.size;
        self.size = (2 * self.size).min(UNITS_MAX);
        if is_productive {
            self.size = self.size.min(enough);
        }
    }

    /// Adds a document or group.
    pub(crate) fn push(&mut self, key: K, unit: Unit<'a>) {
        if let Unit::Document(text) = &unit {
            self.pending_bytes += text.len();
        }
        self.pending.push_back((key, unit));
    }

    /// No more units for now.
    pub(crate) fn end(&mut self) {
        self.is_ended = true;
    }

    /// More units may follow.
    pub(crate) fn reopen(&mut self) {
        self.is_ended = false;
    }

    /// Whether no unit is waiting.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.pending.is_empty()
    }

    /// The next document or group. The run uses its answers from here on.
    pub(crate) async fn next(&mut self, run: &mut Run<'_>) -> Result<Option<K>, Error> {
        let Some(functions) = self.functions else {
            self.is_filling = false;
            return Ok(self.pending.pop_front().map(|(key, _)| key));
        };
        if self.ready.is_empty() && !self.pending.is_empty() {
            self.prepare(functions, run).await?;
        }
        let Some((key, answers)) = self.ready.pop_front() else { return Ok(None) };
        run.attend(answers);
        Ok(Some(key))
    }

    /// The next unit from an iterator.
    pub(crate) async fn next_of(
        &mut self,
        items: &mut (impl Iterator<Item = (K, Unit<'a>)> + Send),
        run: &mut Run<'_>,
    ) -> Result<Option<K>, Error>
    where
        K: Send,
    {
        while self.is_hungry(usize::MAX, || false) {
            match items.next() {
                Some((key, unit)) => self.push(key, unit),
                None => self.end(),
            }
        }
        self.next(run).await
    }

    /// Gets the answers to the calls of pending units. If a call fails, it tries fewer units, so
    /// that the units before the failure are not lost: a query may end there.
    async fn prepare(&mut self, functions: &Functions<'_>, run: &mut Run<'_>) -> Result<(), Error> {
        let mut count = self.pending.len().min(self.size);
        let answers = loop {
            match self.attempt(functions, count, run).await {
                Ok(answers) => break answers,
                Err(trouble) => match trouble.divisor().filter(|_| count > 1) {
                    Some(divisor) => count = count.div_ceil(divisor),
                    None => return Err(trouble.into()),
                },
            }
            self.size = count;
        };
        if count < self.pending.len() {
            self.size = (2 * count).min(UNITS_MAX);
        }
        for answers in answers {
            if let Some((key, unit)) = self.pending.pop_front() {
                if let Unit::Document(text) = &unit {
                    self.pending_bytes -= text.len();
                }
                self.ready.push_back((key, answers));
            }
        }
        self.is_filling = false;
        Ok(())
    }

    /// The answers for the first `count` pending units.
    async fn attempt(
        &self,
        functions: &Functions<'_>,
        count: usize,
        run: &mut Run<'_>,
    ) -> Result<Vec<Answers>, Trouble> {
        let units = self.pending.iter().take(count).map(|(_, unit)| self.subject(unit));
        let units: Vec<Subject<'_>> = units.collect::<Result<_, Error>>()?;
        let mut all: Vec<Answers> = units.iter().map(|_| functions.unanswered()).collect();
        let mut waiting: Vec<usize> = (0..units.len()).collect();
        let mut answer_bytes = 0;
        while !waiting.is_empty() {
            let open = self.round(&units, &mut all, &mut waiting, functions, run)?;
            if open.is_empty() {
                break;
            }
            functions.check_time()?;
            let questions: Vec<&Question> = open.iter().map(|(_, question)| question).collect();
            let values = functions.answer(&questions).await?;
            for ((at, question), value) in open.iter().zip(values) {
                answer_bytes += weight(&value);
                all[*at].put(question, value);
            }
            if answer_bytes > ANSWER_BYTES_MAX {
                return Err(Trouble::TooMuch);
            }
            functions.hold_answers(answer_bytes).map_err(halted)?;
        }
        Ok(all)
    }

    /// Evaluates the waiting units to collect their questions; keeps those that have some.
    fn round(
        &self,
        units: &[Subject<'_>],
        all: &mut [Answers],
        waiting: &mut Vec<usize>,
        functions: &Functions<'_>,
        run: &mut Run<'_>,
    ) -> Result<Vec<(usize, Question)>, Error> {
        let began = functions.figures().run_begins();
        let (mut open, mut open_bytes) = (Vec::new(), 0);
        let mut failure = None;
        waiting.retain(|at| {
            if failure.is_some() || open_bytes > ROUND_BYTES_MAX {
                return true;
            }
            run.attend(std::mem::replace(&mut all[*at], Answers::new(0)));
            let result = self.rehearse(&units[*at], run);
            if let Some((answers, questions)) = run.leave() {
                all[*at] = answers;
                open_bytes += questions.iter().map(Question::weight).sum::<usize>();
                open.extend(questions.into_iter().map(|question| (*at, question)));
            }
            match result {
                Ok(()) => return false,
                Err(Halt::Waiting) => {}
                Err(halt) => failure = Some(halted(halt)),
            }
            true
        });
        functions.figures().run_ends(began);
        failure.map_or(Ok(open), Err)
    }

    fn subject<'s>(&self, unit: &'s Unit<'a>) -> Result<Subject<'s>, Error> {
        Ok(match unit {
            Unit::Document(text) => {
                let document = match self.job {
                    Some(job) => job.document(text)?,
                    None => parse(text, &Wanted::All)?,
                };
                let is_in_scope =
                    self.job.is_none_or(|job| job.scope.admits(job.collection, &document));
                if is_in_scope { Subject::Document(document) } else { Subject::Nothing }
            }
            Unit::Value(value) => Subject::Value(value),
            Unit::Group(keys, accumulators) => Subject::Group(keys, accumulators),
        })
    }

    fn rehearse(&self, subject: &Subject<'_>, run: &mut Run<'_>) -> Result<(), Halt> {
        match subject {
            Subject::Nothing => Ok(()),
            Subject::Document(document) => self.program.rehearse(document, self.with_values, run),
            Subject::Value(value) => self.program.rehearse(value, self.with_values, run),
            Subject::Group(keys, accumulators) => {
                self.program.rehearse_group(keys, accumulators, run)
            }
        }
    }
}

/// A unit in the form that is evaluated.
enum Subject<'a> {
    /// A document outside the query's scope.
    Nothing,
    Document(Value),
    Value(&'a Value),
    Group(&'a [Value], &'a [Accumulator]),
}

/// Gets the answers for one document or group, and hands them to the run.
pub(crate) async fn attend<'a>(
    mut ahead: Ahead<'a, ()>,
    unit: Unit<'a>,
    run: &mut Run<'_>,
) -> Result<(), Error> {
    ahead.push((), unit);
    ahead.next(run).await.map(|_| ())
}
