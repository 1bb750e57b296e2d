//! Documents on their way through operators.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use expression::{Checkpoint, Code, Context, Error, Frame, Result, Scope};

/// The largest document between stages, in bytes: the largest that is stored, and what commands add.
const DOCUMENT_MAX: usize = 16 * 1024 * 1024 + 16 * 1024;

/// Whether whoever gives documents should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// More documents can change the outcome.
    More,
    /// Further documents would be ignored.
    Enough,
}

/// Where documents go.
pub type Out<'o> = dyn FnMut(RawDocumentBuf) -> Result<Flow> + 'o;

/// What expressions see besides the document.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// The time, the collation and the like.
    pub context: &'a Context<'a>,
    /// The values of the variables that the options of the pipeline name.
    pub frame: Option<&'a Frame<'a>>,
    /// Whether to go on.
    pub checkpoint: Option<&'a Checkpoint<'a>>,
}

impl<'a> Environment<'a> {
    /// Without variables.
    pub fn new(context: &'a Context<'a>) -> Self {
        Self { context, frame: None, checkpoint: None }
    }

    /// The scope of a document.
    pub fn scope<'s>(&self, document: &'s RawDocument) -> Scope<'s>
    where
        'a: 's,
    {
        let root = RawBsonRef::Document(document);
        Scope {
            root,
            current: root,
            frame: self.frame,
            context: self.context,
            checkpoint: self.checkpoint,
        }
    }

    /// Asks whether to go on.
    pub fn check(&self) -> Result<()> {
        self.checkpoint.map_or(Ok(()), |checkpoint| checkpoint())
    }
}

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Environment {{ {:?}, {:?} }}", self.context, self.frame)
    }
}

/// The memory that the operators of one execution may hold together.
#[derive(Debug)]
pub struct Budget {
    max: usize,
    used: AtomicUsize,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, used: AtomicUsize::new(0) })
    }

    /// Takes memory.
    pub(crate) fn take(&self, bytes: usize, stage: &str) -> Result<()> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if used <= self.max {
            return Ok(());
        }
        let max = self.max;
        let message = match stage {
            "$sort" => format!(
                "Sort exceeded memory limit of {max} bytes, but did not opt in to external sorting."
            ),
            _ => format!(
                "Exceeded memory limit for {stage}, but didn't allow external sort. Pass \
                 allowDiskUse:true to opt in."
            ),
        };
        Err(Error::new(Code::QUERY_EXCEEDED_MEMORY, message))
    }

    /// Gives memory back.
    pub(crate) fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A stage at work.
pub trait Operator: Send {
    /// Takes a document in, and hands on what comes of it.
    fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        out: &mut Out<'_>,
    ) -> Result<Flow>;

    /// Hands on what was kept until the last document.
    fn finish(&mut self, _environment: &Environment<'_>, _out: &mut Out<'_>) -> Result<()> {
        Ok(())
    }
}

/// A compiled stage that handles each document for itself.
pub(crate) trait Each: fmt::Debug + Send + Sync {
    /// What comes of a document.
    fn apply(
        &self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
    ) -> Result<Option<RawDocumentBuf>>;
}

/// A compiled stage that remembers something between documents.
pub(crate) trait Start: fmt::Debug + Send + Sync {
    /// Begins an execution.
    fn start(self: Arc<Self>, budget: &Arc<Budget>) -> Box<dyn Operator>;

    /// The stage when no more than so many of its documents are wanted, if this helps it.
    fn with_limit(&self, _limit: usize) -> Option<Arc<dyn Start>> {
        None
    }
}

struct EachOperator(Arc<dyn Each>);

impl Operator for EachOperator {
    fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        out: &mut Out<'_>,
    ) -> Result<Flow> {
        match self.0.apply(document, environment)? {
            Some(document) => out(document),
            None => Ok(Flow::More),
        }
    }
}

/// The operator of a stage that handles each document for itself.
pub(crate) fn each(stage: &Arc<dyn Each>) -> Box<dyn Operator> {
    Box::new(EachOperator(Arc::clone(stage)))
}

/// A run of a pipeline.
pub struct Execution {
    operators: Vec<Box<dyn Operator>>,
    flow: Flow,
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Execution {{ {} operators, {:?} }}", self.operators.len(), self.flow)
    }
}

impl Execution {
    pub(crate) fn new(operators: Vec<Box<dyn Operator>>) -> Self {
        Self { operators, flow: Flow::More }
    }

    /// Pushes a document in. After [`Flow::Enough`], further documents are ignored.
    pub fn push(
        &mut self,
        document: RawDocumentBuf,
        environment: &Environment<'_>,
        out: &mut Out<'_>,
    ) -> Result<Flow> {
        if self.flow == Flow::More {
            environment.check()?;
            self.flow = push(&mut self.operators, document, environment, out)?;
        }
        Ok(self.flow)
    }

    /// Ends the input: stages such as `$group` hand on their documents now.
    pub fn finish(&mut self, environment: &Environment<'_>, out: &mut Out<'_>) -> Result<()> {
        let mut rest = self.operators.as_mut_slice();
        while let Some((first, others)) = rest.split_first_mut() {
            first.finish(environment, &mut |document| {
                environment.check()?;
                push(others, document, environment, out)
            })?;
            rest = others;
        }
        Ok(())
    }
}

fn push(
    operators: &mut [Box<dyn Operator>],
    document: RawDocumentBuf,
    environment: &Environment<'_>,
    out: &mut Out<'_>,
) -> Result<Flow> {
    check_size(document.as_bytes().len())?;
    match operators.split_first_mut() {
        None => out(document),
        Some((first, rest)) => first
            .push(document, environment, &mut |document| push(rest, document, environment, out)),
    }
}

/// Refuses a document that is too large.
pub(crate) fn check_size(bytes: usize) -> Result<()> {
    if bytes <= DOCUMENT_MAX {
        return Ok(());
    }
    Err(Error::new(
        Code::DOCUMENT_TOO_LARGE,
        format!(
            "BSONObj size: {bytes} (0x{bytes:X}) is invalid. \
             Size must be between 0 and {DOCUMENT_MAX}(16MB)"
        ),
    ))
}

/// Refuses a document that is nested too deep. Stages that put values below new fields ask this:
/// whoever compares values relies on it.
pub(crate) fn check_depth(document: &RawDocument) -> Result<()> {
    // A level takes a type, the end of a name, a length and an end.
    const LEVEL_MIN: usize = 7;
    if document.as_bytes().len() <= LEVEL_MIN * expression::DEPTH_MAX {
        return Ok(());
    }
    expression::check_depth(RawBsonRef::Document(document))
}
