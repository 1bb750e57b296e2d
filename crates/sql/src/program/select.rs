//! Compiled queries over frames: rows as nested loops, and the values that a subquery gives for
//! them. Only what a clause must see as a whole is held: groups, and what DISTINCT has seen.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use value::Value;

use super::aggregate::Accumulator;
use super::answers::Parts;
use super::evaluate;
use super::frame::{self, Frame, Frames};
use super::node::{Node, Projection, Select, Source, SourceKind};
use super::run::{Halt, Run, weight};
use crate::ast::SubqueryKind;

/// Receives rows.
pub(super) type RowSink<'k> =
    dyn for<'s, 'v> FnMut(Frames<'s, 'v>, &mut Run<'_>) -> Result<(), Halt> + 'k;

/// Receives values.
type ValueSink<'k> = dyn FnMut(Cow<'_, Value>, &mut Run<'_>) -> Result<(), Halt> + 'k;

impl Select {
    /// Every row: FROM, JOIN and WHERE. `document` is what a source of the container reads.
    pub(super) fn each_row(
        &self,
        document: &Value,
        outer: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<(), Halt> {
        self.join(&self.sources, document, outer, run, sink)
    }

    /// The loop of the first of these sources, and within it those of the others. What waits for
    /// an answer is left out, so that the rows beside it can ask too; the run knows of it.
    fn join(
        &self,
        sources: &[Source],
        document: &Value,
        frames: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<(), Halt> {
        let mark = run.mark();
        match self.join_whole(sources, document, frames, run, sink) {
            Err(Halt::Waiting) => {
                run.wait(mark);
                Ok(())
            }
            result => result,
        }
    }

    fn join_whole(
        &self,
        sources: &[Source],
        document: &Value,
        frames: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<(), Halt> {
        run.step()?;
        let Some((source, others)) = sources.split_first() else {
            return self.filtered(frames, run, sink);
        };
        let mut bind = |value: &Value, run: &mut Run<'_>| {
            let frame = Frame { value, outer: frames };
            self.join(others, document, Some(&frame), run, sink)
        };
        let mut each = |value: &Value, run: &mut Run<'_>| match value {
            Value::Array(items) if source.is_iterator => {
                items.iter().try_for_each(|item| bind(item, run))
            }
            _ if source.is_iterator => Ok(()),
            Value::Undefined => Ok(()),
            _ => bind(value, run),
        };
        match &source.kind {
            SourceKind::Document { steps } => each(frame::descend(document, steps), run),
            SourceKind::Bound(node) => each(node.evaluate(frames, run)?.as_ref(), run),
            SourceKind::Subquery(select) => {
                select.each_value(document, frames, run, &mut |value, run| each(&value, run))
            }
        }
    }

    fn filtered(
        &self,
        frames: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut RowSink<'_>,
    ) -> Result<(), Halt> {
        if let Some(filter) = &self.filter {
            let mark = run.mark();
            let truth = filter.truth(frames, run)?;
            run.release(mark);
            if truth != Some(true) {
                return Ok(());
            }
        }
        sink(frames, run)
    }

    /// Every defined value of a subquery.
    fn each_value(
        &self,
        document: &Value,
        outer: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut ValueSink<'_>,
    ) -> Result<(), Halt> {
        if !self.is_distinct {
            return self.each_projected(document, outer, run, sink);
        }
        let (mut seen, mut held) = (BTreeSet::new(), 0);
        self.each_projected(document, outer, run, &mut |value, run| {
            let key = key_of([value.as_ref()]);
            run.hold(key.len())?;
            held += key.len();
            if seen.insert(key) { sink(value, run) } else { Ok(()) }
        })?;
        run.drop_bytes(held);
        Ok(())
    }

    fn each_projected(
        &self,
        document: &Value,
        outer: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut ValueSink<'_>,
    ) -> Result<(), Halt> {
        if self.is_aggregate {
            let (mark, waits, mut accumulators) = (run.mark(), run.waits(), self.accumulators());
            self.each_row(document, outer, run, &mut |frames, run| {
                let bytes = self.accumulate(&mut accumulators, frames, run)?;
                run.hold(bytes)
            })?;
            run.check_waits(waits)?;
            let held = run.mark().saturating_sub(mark);
            self.send_group(Vec::new(), &accumulators, outer, run, sink)?;
            run.drop_bytes(held);
            return Ok(());
        }
        if self.is_grouped() {
            let (mark, waits, mut groups) = (run.mark(), run.waits(), Groups::default());
            self.each_row(document, outer, run, &mut |frames, run| {
                let keys = keys(&self.keys, frames, run)?;
                let group = groups.find(keys, || self.accumulators(), run)?;
                let bytes = self.accumulate(group, frames, run)?;
                run.hold(bytes)
            })?;
            run.check_waits(waits)?;
            let held = run.mark().saturating_sub(mark);
            for (keys, accumulators) in groups.groups {
                self.send_group(keys, &accumulators, outer, run, sink)?;
            }
            run.drop_bytes(held);
            return Ok(());
        }
        self.each_row(document, outer, run, &mut |frames, run| self.send(frames, run, sink))
    }

    fn send_group(
        &self,
        keys: Vec<Value>,
        accumulators: &[Accumulator],
        outer: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut ValueSink<'_>,
    ) -> Result<(), Halt> {
        let group = group_value(keys, accumulators);
        self.send(Some(&Frame { value: &group, outer }), run, sink)
    }

    /// Projects and passes on. What the value took is given back, what the sink keeps is not.
    fn send(
        &self,
        frames: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut ValueSink<'_>,
    ) -> Result<(), Halt> {
        let mark = run.mark();
        let value = self.project(frames, run)?;
        let held = run.mark().saturating_sub(mark);
        if !value.is_undefined() {
            sink(value, run)?;
        }
        run.drop_bytes(held);
        Ok(())
    }

    /// SELECT, for a row or a group.
    pub(super) fn project<'v>(
        &'v self,
        frames: Frames<'_, 'v>,
        run: &mut Run<'_>,
    ) -> Result<Cow<'v, Value>, Halt> {
        match &self.projection {
            Projection::Frame => Ok(Cow::Borrowed(frame::lookup(frames, 0))),
            Projection::Value(node) => node.evaluate(frames, run),
            Projection::List(members) => Ok(Cow::Owned(evaluate::object(members, frames, run)?)),
        }
    }

    pub(super) fn accumulators(&self) -> Vec<Accumulator> {
        self.aggregates.iter().map(|call| Accumulator::new(call.aggregate)).collect()
    }

    /// Adds a row to the aggregates. Returns how many bytes they hold more than before.
    pub(super) fn accumulate(
        &self,
        accumulators: &mut [Accumulator],
        frames: Frames<'_, '_>,
        run: &mut Run<'_>,
    ) -> Result<usize, Halt> {
        let mut bytes = 0;
        for (accumulator, call) in accumulators.iter_mut().zip(&self.aggregates) {
            let mark = run.mark();
            let value = call.argument.evaluate(frames, run)?;
            run.release(mark);
            bytes += accumulator.add(value);
        }
        Ok(bytes)
    }

    /// Whether there is a value.
    pub(super) fn exists(&self, outer: Frames<'_, '_>, run: &mut Run<'_>) -> Result<bool, Halt> {
        let mut found = false;
        self.until_stopped(outer, run, &mut |_, _| {
            found = true;
            Err(Halt::Stopped)
        })?;
        Ok(found)
    }

    /// Whether every value is true.
    pub(super) fn is_all_true(
        &self,
        outer: Frames<'_, '_>,
        run: &mut Run<'_>,
    ) -> Result<bool, Halt> {
        let mut is_all_true = true;
        self.until_stopped(outer, run, &mut |value, _| {
            is_all_true = value.as_bool() == Some(true);
            if is_all_true { Ok(()) } else { Err(Halt::Stopped) }
        })?;
        Ok(is_all_true)
    }

    /// The value of a subquery of a kind that is not true or false.
    pub(super) fn value(
        &self,
        kind: SubqueryKind,
        outer: Frames<'_, '_>,
        run: &mut Run<'_>,
    ) -> Result<Value, Halt> {
        let mut values = Vec::new();
        let mark = run.mark();
        self.until_stopped(outer, run, &mut |value, run| {
            if kind == SubqueryKind::Last {
                values.clear();
            }
            run.hold(weight(&value))?;
            values.push(value.into_owned());
            match kind {
                SubqueryKind::Array | SubqueryKind::Last => Ok(()),
                _ => Err(Halt::Stopped),
            }
        })?;
        run.release(mark);
        let value = match kind {
            SubqueryKind::Array => Value::from(values),
            _ => values.pop().unwrap_or_default(),
        };
        run.hold(weight(&value))?;
        Ok(value)
    }

    /// The values up to the one that the sink stops at. Nothing of them is held afterwards.
    fn until_stopped(
        &self,
        outer: Frames<'_, '_>,
        run: &mut Run<'_>,
        sink: &mut ValueSink<'_>,
    ) -> Result<(), Halt> {
        let (mark, waits) = (run.mark(), run.waits());
        let result = self.each_value(&frame::UNDEFINED, outer, run, sink);
        run.release(mark);
        run.check_waits(waits)?;
        match result {
            Err(Halt::Stopped) => Ok(()),
            other => other,
        }
    }
}

/// The groups of a subquery, in the order of their first rows.
#[derive(Default)]
struct Groups {
    places: BTreeMap<Vec<u8>, usize>,
    groups: Vec<(Vec<Value>, Vec<Accumulator>)>,
}

impl Groups {
    fn find(
        &mut self,
        keys: Vec<Value>,
        accumulators: impl FnOnce() -> Vec<Accumulator>,
        run: &mut Run<'_>,
    ) -> Result<&mut [Accumulator], Halt> {
        let bytes = key_of(&keys);
        if let Some(place) = self.places.get(&bytes) {
            return Ok(&mut self.groups[*place].1);
        }
        let accumulators = accumulators();
        let size = size_of::<Accumulator>() * accumulators.len();
        run.hold(2 * bytes.len() + keys.iter().map(weight).sum::<usize>() + size)?;
        let place = self.groups.len();
        self.places.insert(bytes, place);
        self.groups.push((keys, accumulators));
        Ok(&mut self.groups[place].1)
    }
}

/// The values of the keys of GROUP BY or ORDER BY. Their memory is not counted here but by the code
/// that keeps them.
pub(super) fn keys(
    nodes: &[Node],
    frames: Frames<'_, '_>,
    run: &mut Run<'_>,
) -> Result<Vec<Value>, Halt> {
    let mark = run.mark();
    let mut keys = Vec::with_capacity(nodes.len());
    let mut parts = Parts::default();
    for node in nodes {
        keys.extend(parts.take(node.evaluate(frames, run))?.map(Cow::into_owned));
    }
    parts.finish()?;
    run.release(mark);
    Ok(keys)
}

/// Bytes that are equal where all the values are.
pub(super) fn key_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> Vec<u8> {
    let mut key = Vec::new();
    for value in values {
        value::key::encode(value, &mut key);
    }
    key
}

/// The contents of a group's frame: its keys, then its aggregates.
pub(super) fn group_value(mut keys: Vec<Value>, accumulators: &[Accumulator]) -> Value {
    keys.extend(accumulators.iter().map(Accumulator::value));
    Value::from(keys)
}
