//! Calls of user-defined functions that are answered elsewhere, many at a time.
//!
//! A run that [attends](super::Run::attend) to answers looks up the result of a call. A call
//! without an answer becomes a [`Question`], and everything that depends on it
//! [waits](super::Halt::Waiting); the rest continues, so that as many questions as possible are
//! known at once. The code that runs the program gets them answered and evaluates again, until
//! nothing waits.
//!
//! Calls are identified by their place in the query, their arguments, and how often that place was
//! called with these arguments before: each has its own answer.

use std::collections::HashMap;

use value::{Value, hash::murmur3_128};

use super::run::{Halt, weight};
use super::select::key_of;

/// Questions that one document may have open at a time, by the bytes of their arguments.
const OPEN_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A call that has no answer yet.
#[derive(Clone, Debug)]
pub struct Question {
    place: Place,
    /// The function's name.
    pub function: String,
    /// The arguments, which may be undefined.
    pub arguments: Vec<Value>,
}

impl Question {
    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        size_of::<Question>() + self.arguments.iter().map(weight).sum::<usize>()
    }
}

/// A call among those of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    site: usize,
    /// A hash of the arguments.
    arguments: (u64, u64),
    nth: usize,
}

/// The answers of functions for one document or group.
#[derive(Clone, Debug)]
pub struct Answers {
    known: HashMap<Place, Value>,
    /// The seed of random numbers, so that every evaluation gives the same.
    pub(super) seed: u64,
}

impl Answers {
    /// No answers yet. `seed` is what the random numbers of this document begin from.
    pub fn new(seed: u64) -> Answers {
        Answers { known: HashMap::new(), seed }
    }

    /// Takes the answer to a question of the same document.
    pub fn put(&mut self, question: &Question, answer: Value) {
        self.known.insert(question.place, answer);
    }
}

/// Answers in use.
pub(super) struct Attended {
    pub(super) answers: Answers,
    /// How often each call was met since the beginning.
    met: HashMap<(usize, (u64, u64)), usize>,
    pub(super) questions: Vec<Question>,
    open_bytes: usize,
}

impl Attended {
    pub(super) fn new(answers: Answers) -> Attended {
        Attended { answers, met: HashMap::new(), questions: Vec::new(), open_bytes: 0 }
    }

    /// The result of the call, or a question for it.
    pub(super) fn call(
        &mut self,
        site: usize,
        function: &str,
        arguments: Vec<Value>,
    ) -> Result<Value, Halt> {
        let hash = murmur3_128(&key_of(&arguments), (0, 0));
        let met = self.met.entry((site, hash)).or_default();
        let place = Place { site, arguments: hash, nth: *met };
        *met += 1;
        if let Some(answer) = self.answers.known.get(&place) {
            return Ok(answer.clone());
        }
        // Questions not recorded now are asked once these are answered.
        if self.open_bytes < OPEN_BYTES_MAX {
            let question = Question { place, function: function.to_owned(), arguments };
            self.open_bytes += question.weight();
            self.questions.push(question);
        }
        Err(Halt::Waiting)
    }
}

/// Evaluates the parts of something though one of them waits, so that all can ask.
#[derive(Default)]
pub(super) struct Parts {
    waits: bool,
}

impl Parts {
    /// The part's result; `None` if it waits.
    pub(super) fn take<T>(&mut self, result: Result<T, Halt>) -> Result<Option<T>, Halt> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Halt::Waiting) => {
                self.waits = true;
                Ok(None)
            }
            Err(halt) => Err(halt),
        }
    }

    /// The whole waits if a part does.
    pub(super) fn finish(self) -> Result<(), Halt> {
        if self.waits { Err(Halt::Waiting) } else { Ok(()) }
    }
}
