//! The messages between host and worker: `Run`, then any number of `Ask` and `Answered`, then
//! `Done`.

use crate::{
    host::{Answer, Operation, Promise, Reply},
    job::{Context, Failure, Job, Limits, Property},
    links::Resource,
    message::{Malformed, Reader, Writer},
};

/// What a worker is to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    StoredProcedure,
    PreTrigger,
    PostTrigger,
    Function,
    Compile,
}

const MODES: [Mode; 5] =
    [Mode::StoredProcedure, Mode::PreTrigger, Mode::PostTrigger, Mode::Function, Mode::Compile];

const OPERATIONS: [Operation; 7] = [
    Operation::Read,
    Operation::ReadFeed,
    Operation::Query,
    Operation::Create,
    Operation::Upsert,
    Operation::Replace,
    Operation::Delete,
];

/// The approximate size of a job's message without its large texts.
const OTHERS_BYTES: usize = 1024;

/// The approximate sizes of a request and of an answer without their large texts.
const ASK_BYTES: usize = 128;
const ANSWER_BYTES: usize = 64;

/// The message that starts an execution.
pub(crate) struct Run {
    pub(crate) mode: Mode,
    pub(crate) name: String,
    pub(crate) source: String,
    /// JSON text: an array of arguments, or rows of boxed arguments `[[[1], []], …]`, where an
    /// empty box is undefined.
    pub(crate) arguments: String,
    pub(crate) context: Context,
    pub(crate) limits: Limits,
    pub(crate) promise: Promise,
}

/// One operation, as a worker asks for it.
pub(crate) struct Ask {
    pub(crate) operation: Operation,
    pub(crate) resource: Resource,
    pub(crate) link: String,
    pub(crate) body: Option<String>,
    pub(crate) options: AskOptions,
    pub(crate) manner: Manner,
}

/// How an operation is asked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manner {
    /// The next operation follows without waiting for the answer to this one.
    pub(crate) is_followed: bool,
    /// It uses the host's promise.
    pub(crate) is_promised: bool,
    /// Nobody reads the resource that a success would return.
    pub(crate) is_brief: bool,
}

/// Its options, as in [`crate::Call`].
#[derive(Default)]
pub(crate) struct AskOptions {
    pub(crate) if_match: Option<String>,
    pub(crate) if_none_match: Option<String>,
    pub(crate) index_action: Option<String>,
    pub(crate) page_size: Option<i64>,
    pub(crate) continuation: Option<String>,
    pub(crate) enable_scan: bool,
}

/// The answer to a worker's request, and what the host promises from now on.
pub(crate) struct Told {
    pub(crate) answered: Answered,
    pub(crate) promise: Promise,
}

/// The answer to a worker's request.
pub(crate) enum Answered {
    Answer(Answer),
    /// The call itself was wrong: the script gets this as an exception with number 400.
    Invalid(String),
}

/// The report of an execution that ended in the worker.
pub(crate) struct Done {
    pub(crate) log: String,
    pub(crate) result: Result<Left, Failure>,
}

/// Its results.
#[derive(Default)]
pub(crate) struct Left {
    pub(crate) response_body: Option<String>,
    pub(crate) request_body: Option<String>,
    pub(crate) request_values: Vec<(String, String)>,
    pub(crate) response_values: Vec<(String, String)>,
    /// JSON text: a box for each row, as for arguments.
    pub(crate) rows: Option<String>,
}

/// A message from a worker.
pub(crate) enum Said {
    Ask(Ask),
    Done(Done),
}

impl Run {
    /// Encodes the message for a job. Its texts may be large, so this is their only copy.
    pub(crate) fn message(
        mode: Mode,
        arguments: &str,
        job: &Job,
        promise: Promise,
    ) -> Option<Vec<u8>> {
        let Job { name, source, context, limits, .. } = job;
        let bodies = [&context.request_body, &context.response_body].into_iter().flatten();
        let bodies_length: usize = bodies.map(String::len).sum();
        let length = name.len() + source.len() + arguments.len() + bodies_length + OTHERS_BYTES;
        let mut out = Writer::with_room(position(&MODES, &mode), length);
        out.text(name).text(source).text(arguments);
        out.text(&context.self_link).text(&context.alt_link).text(&context.operation_type);
        out.optional(context.request_body.as_deref()).optional(context.response_body.as_deref());
        for properties in [&context.request_values, &context.response_values] {
            out.number(properties.len() as u64);
            for property in properties {
                out.text(&property.name).text(&property.value).flag(property.writable);
            }
        }
        out.text(&context.quota.0).text(&context.quota.1).flag(context.logging);
        out.number(u64::try_from(limits.time.as_millis()).unwrap_or(u64::MAX));
        out.number(limits.heap_bytes_max).number(limits.stack_bytes_max.into());
        out.number(limits.body_bytes_max.into()).number(limits.log_bytes_max.into());
        write_promise(&mut out, promise);
        out.finish()
    }

    pub(crate) fn decode(message: &[u8]) -> Result<Run, Malformed> {
        let mut from = Reader::new(message);
        let mode = pick(&MODES, from.byte()?)?;
        let (name, source, arguments) = (from.text()?, from.text()?, from.text()?);
        let context = Context {
            self_link: from.text()?,
            alt_link: from.text()?,
            operation_type: from.text()?,
            request_body: from.optional()?,
            response_body: from.optional()?,
            request_values: properties(&mut from)?,
            response_values: properties(&mut from)?,
            quota: (from.text()?, from.text()?),
            logging: from.flag()?,
        };
        let limits = Limits {
            time: std::time::Duration::from_millis(from.number()?),
            heap_bytes_max: from.number()?,
            stack_bytes_max: from.narrow()?,
            body_bytes_max: from.narrow()?,
            log_bytes_max: from.narrow()?,
            ..Limits::default()
        };
        let promise = promise(&mut from)?;
        from.end()?;
        Ok(Run { mode, name, source, arguments, context, limits, promise })
    }
}

impl Told {
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let mut out = match &self.answered {
            Answered::Answer(Answer::Refused) => Writer::new(0),
            Answered::Invalid(message) => {
                let mut out = Writer::new(1);
                out.text(message);
                out
            }
            Answered::Answer(Answer::Done(reply)) => {
                let room = reply.body.as_ref().map_or(0, String::len) + ANSWER_BYTES;
                let mut out = Writer::with_room(2, room);
                out.number(reply.status.into()).optional(reply.body.as_deref());
                out.optional(reply.continuation.as_deref()).flag(reply.size_mb.is_some());
                let (size, size_max) = reply.size_mb.unwrap_or_default();
                out.number(size).number(size_max.cast_unsigned());
                out
            }
        };
        write_promise(&mut out, self.promise);
        out.finish()
    }

    pub(crate) fn decode(message: &[u8]) -> Result<Told, Malformed> {
        let mut from = Reader::new(message);
        let answered = match from.byte()? {
            0 => Answered::Answer(Answer::Refused),
            1 => Answered::Invalid(from.text()?),
            2 => {
                let (status, body) = (from.narrow()?, from.optional()?);
                let continuation = from.optional()?;
                let has_size = from.flag()?;
                let size = (from.number()?, from.number()?.cast_signed());
                let size_mb = has_size.then_some(size);
                Answered::Answer(Answer::Done(Reply { status, body, continuation, size_mb }))
            }
            _ => return Err(Malformed),
        };
        let promise = promise(&mut from)?;
        from.end()?;
        Ok(Told { answered, promise })
    }
}

impl Ask {
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let room = self.link.len() + self.body.as_ref().map_or(0, String::len) + ASK_BYTES;
        let mut out = Writer::with_room(0, room);
        let Manner { is_followed, is_promised, is_brief } = self.manner;
        // The first byte after the tag: see below.
        out.flag(is_followed).flag(is_promised).flag(is_brief);
        out.byte(position(&OPERATIONS, &self.operation));
        out.flag(self.resource == Resource::Attachment).text(&self.link);
        out.optional(self.body.as_deref());
        let options = &self.options;
        out.optional(options.if_match.as_deref()).optional(options.if_none_match.as_deref());
        out.optional(options.index_action.as_deref()).optional(options.continuation.as_deref());
        out.flag(options.page_size.is_some());
        out.number(options.page_size.unwrap_or_default().cast_unsigned());
        out.flag(options.enable_scan);
        out.finish()
    }

    /// Tells from an encoded operation that another one follows.
    pub(crate) fn mark_followed(message: &mut [u8]) {
        if let Some(flag) = message.get_mut(Writer::BEGIN_BYTES) {
            *flag = 1;
        }
    }

    fn decode(mut from: Reader<'_>) -> Result<Ask, Malformed> {
        let (is_followed, is_promised, is_brief) = (from.flag()?, from.flag()?, from.flag()?);
        let manner = Manner { is_followed, is_promised, is_brief };
        let operation = pick(&OPERATIONS, from.byte()?)?;
        let resource = if from.flag()? { Resource::Attachment } else { Resource::Document };
        let (link, body) = (from.text()?, from.optional()?);
        let (if_match, if_none_match) = (from.optional()?, from.optional()?);
        let (index_action, continuation) = (from.optional()?, from.optional()?);
        let has_page_size = from.flag()?;
        let page_size = Some(from.number()?.cast_signed()).filter(|_| has_page_size);
        let enable_scan = from.flag()?;
        from.end()?;
        let options = AskOptions {
            if_match,
            if_none_match,
            index_action,
            page_size,
            continuation,
            enable_scan,
        };
        Ok(Ask { operation, resource, link, body, options, manner })
    }
}

impl Done {
    pub(crate) fn encode(&self) -> Option<Vec<u8>> {
        let mut out = Writer::new(1);
        out.text(&self.log);
        match &self.result {
            Ok(left) => {
                out.byte(0);
                out.optional(left.response_body.as_deref());
                out.optional(left.request_body.as_deref());
                for values in [&left.request_values, &left.response_values] {
                    out.number(values.len() as u64);
                    for (name, value) in values {
                        out.text(name).text(value);
                    }
                }
                out.optional(left.rows.as_deref());
            }
            Err(Failure::Thrown { number, description, stack }) => {
                out.byte(1).flag(number.is_some());
                out.number(number.unwrap_or_default().cast_unsigned());
                out.text(description).text(stack);
            }
            Err(Failure::Syntax { message, line, column }) => {
                out.byte(2).text(message).number((*line).into()).number((*column).into());
            }
            Err(Failure::TimedOut) => drop(out.byte(3)),
            Err(Failure::OutOfMemory) => drop(out.byte(4)),
            Err(Failure::TooLarge) => drop(out.byte(5)),
            Err(other) => drop(out.byte(6).text(&other.to_string())),
        }
        out.finish()
    }

    fn decode(mut from: Reader<'_>) -> Result<Done, Malformed> {
        let log = from.text()?;
        let result = match from.byte()? {
            0 => Ok(Left {
                response_body: from.optional()?,
                request_body: from.optional()?,
                request_values: pairs(&mut from)?,
                response_values: pairs(&mut from)?,
                rows: from.optional()?,
            }),
            1 => {
                let (has_number, number) = (from.flag()?, from.number()?.cast_signed());
                let (description, stack) = (from.text()?, from.text()?);
                Err(Failure::Thrown { number: has_number.then_some(number), description, stack })
            }
            2 => {
                let message = from.text()?;
                Err(Failure::Syntax { message, line: from.narrow()?, column: from.narrow()? })
            }
            3 => Err(Failure::TimedOut),
            4 => Err(Failure::OutOfMemory),
            5 => Err(Failure::TooLarge),
            6 => Err(Failure::WorkerLost(from.text()?)),
            _ => return Err(Malformed),
        };
        from.end()?;
        Ok(Done { log, result })
    }
}

impl Said {
    pub(crate) fn decode(message: &[u8]) -> Result<Said, Malformed> {
        let mut from = Reader::new(message);
        match from.byte()? {
            0 => Ok(Said::Ask(Ask::decode(from)?)),
            1 => Ok(Said::Done(Done::decode(from)?)),
            _ => Err(Malformed),
        }
    }
}

fn position<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter()
        .position(|other| other == one)
        .map_or(u8::MAX, |at| u8::try_from(at).unwrap_or(u8::MAX))
}

fn pick<T: Copy>(all: &[T], position: u8) -> Result<T, Malformed> {
    all.get(usize::from(position)).copied().ok_or(Malformed)
}

fn write_promise(out: &mut Writer, promise: Promise) {
    out.number(promise.creations.into()).number(promise.bytes);
}

fn promise(from: &mut Reader<'_>) -> Result<Promise, Malformed> {
    Ok(Promise { creations: from.narrow()?, bytes: from.number()? })
}

fn properties(from: &mut Reader<'_>) -> Result<Vec<Property>, Malformed> {
    let count = from.number()?;
    let mut all = Vec::new();
    for _ in 0..count {
        let (name, value) = (from.text()?, from.text()?);
        all.push(Property { name, value, writable: from.flag()? });
    }
    Ok(all)
}

fn pairs(from: &mut Reader<'_>) -> Result<Vec<(String, String)>, Malformed> {
    let count = from.number()?;
    let mut all = Vec::new();
    for _ in 0..count {
        all.push((from.text()?, from.text()?));
    }
    Ok(all)
}
