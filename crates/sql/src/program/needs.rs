//! Which members of a document a program looks at: the others need not be parsed.

use value::json::Wanted;

use super::node::{LikePattern, Node, PathStep, Projection, Select, Source, SourceKind};
use super::shape::Shape;

/// The members that a program over documents of the collection needs, without those that only its
/// projection needs where the row's value is the stored document itself.
pub(super) fn of(select: &Select, order: &[Node], shape: &Shape) -> Wanted {
    // The documents of an inner program's caller are that one's values.
    if shape.inner.is_some() || !shape.reads_container {
        return Wanted::All;
    }
    let mut needs = Needs { wanted: Wanted::Some(Vec::new()), frames: Vec::new() };
    let is_copied = shape.projects_document && !shape.is_distinct;
    needs.select(select, order, !is_copied);
    needs.wanted
}

/// What a frame holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    Document,
    /// Something else, or a part of the document that is needed already.
    Other,
}

struct Needs {
    wanted: Wanted,
    /// The frames at this place, the innermost last.
    frames: Vec<Held>,
}

impl Needs {
    fn select(&mut self, select: &Select, order: &[Node], with_projection: bool) {
        let outer = self.frames.len();
        for source in &select.sources {
            let held = self.source(source);
            self.frames.push(held);
        }
        self.nodes(&select.filter);
        self.nodes(&select.keys);
        self.nodes(select.aggregates.iter().map(|call| &call.argument));
        if select.is_aggregate && !select.is_grouped() {
            // A list of all rows is sorted by what the rows have.
            self.nodes(order);
        }
        if select.is_aggregate || select.is_grouped() {
            self.frames.truncate(outer);
            self.frames.push(Held::Other);
        }
        if !select.is_aggregate || select.is_grouped() {
            self.nodes(order);
        }
        if with_projection {
            match &select.projection {
                Projection::Frame => self.path(0, &[]),
                Projection::Value(node) => self.node(node),
                Projection::List(members) => self.nodes(members.iter().map(|(_, node)| node)),
            }
        }
        self.frames.truncate(outer);
    }

    /// What the frame of a source holds.
    fn source(&mut self, source: &Source) -> Held {
        match &source.kind {
            SourceKind::Document { steps } if steps.is_empty() && !source.is_iterator => {
                return Held::Document;
            }
            SourceKind::Document { steps } => self.steps(steps),
            SourceKind::Bound(Node::Path { hops, steps })
                if steps.is_empty() && !source.is_iterator =>
            {
                return self.held(*hops);
            }
            SourceKind::Bound(node) => self.node(node),
            SourceKind::Subquery(select) => self.select(select, &[], true),
        }
        Held::Other
    }

    fn held(&self, hops: usize) -> Held {
        let place = self.frames.len().checked_sub(hops + 1);
        place.map_or(Held::Document, |place| self.frames[place])
    }

    fn path(&mut self, hops: usize, steps: &[PathStep]) {
        if self.held(hops) == Held::Document {
            self.steps(steps);
        }
    }

    /// Steps from a document.
    fn steps(&mut self, steps: &[PathStep]) {
        match steps.first() {
            Some(PathStep::Key(name)) => self.wanted.add(name),
            _ => self.wanted = Wanted::All,
        }
    }

    fn nodes<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>) {
        nodes.into_iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Constant(_) | Node::Shared(_) => {}
            Node::Path { hops, steps } => self.path(*hops, steps),
            Node::Member { base: operand, .. }
            | Node::IsDefined(operand)
            | Node::Unary { operand, .. }
            | Node::OneOf { needle: operand, .. }
            | Node::Like { operand, pattern: LikePattern::Constant(_), .. } => self.node(operand),
            Node::Index { base: left, index: right }
            | Node::ArrayContains { array: left, needle: right }
            | Node::Binary { left, right, .. }
            | Node::Like {
                operand: left,
                pattern: LikePattern::Computed { pattern: right, .. },
                ..
            } => {
                self.nodes([&**left, &**right]);
            }
            Node::Array(nodes)
            | Node::Call { args: nodes, .. }
            | Node::Udf { args: nodes, .. }
            | Node::Logical { operands: nodes, .. } => self.nodes(nodes),
            Node::Object(members) => self.nodes(members.iter().map(|(_, node)| node)),
            Node::Conditional { condition, then, otherwise } => {
                self.nodes([&**condition, &**then, &**otherwise]);
            }
            Node::In { needle, items, .. } => {
                self.node(needle);
                self.nodes(items);
            }
            Node::Between { operand, low, high, .. } => self.nodes([&**operand, &**low, &**high]),
            Node::Subquery { select, .. } => self.select(select, &[], true),
            Node::Let { value, body } => {
                self.node(value);
                self.frames.push(Held::Other);
                self.node(body);
                self.frames.pop();
            }
            Node::Computed { hops, body } => self.computed(*hops, body),
        }
    }

    /// The expression of a computed property knows one frame only.
    fn computed(&mut self, hops: usize, body: &Node) {
        let held = self.held(hops);
        let frames = std::mem::replace(&mut self.frames, vec![held]);
        self.node(body);
        self.frames = frames;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Program, Settings, check_computed_all};

    /// The names that a query needs, or `*`.
    fn needs(text: &str) -> String {
        let computed = check_computed_all(&[("low", "SELECT VALUE LOWER(c.name) FROM c")]).unwrap();
        let settings = Settings { computed: &computed, ..Settings::default() };
        let program = Program::compile(&crate::parse(text).unwrap(), &settings).unwrap();
        match program.needs().clone() {
            Wanted::All => "*".to_owned(),
            Wanted::Some(mut names) => {
                names.sort();
                names.join(",")
            }
        }
    }

    #[test]
    fn members_that_programs_look_at() {
        for (text, expected) in [
            ("SELECT * FROM c", ""),
            ("SELECT * FROM c WHERE c.a.x = 1 AND c['b'] > c.a.y ORDER BY c.d", "a,b,d"),
            ("SELECT DISTINCT * FROM c WHERE c.a = 1", "*"),
            ("SELECT VALUE c FROM c WHERE IS_DEFINED(c.a)", "a"),
            ("SELECT c FROM c", "*"),
            ("SELECT c.a, {x: [c.b.z]} FROM c", "a,b"),
            ("SELECT VALUE c[c.a] FROM c", "*"),
            ("SELECT VALUE c[0] FROM c", "*"),
            ("SELECT VALUE d.x FROM c JOIN d IN c.list WHERE d.y = c.a", "a,list"),
            ("SELECT d FROM c JOIN d IN c.list", "list"),
            ("SELECT * FROM d IN c.list", "list"),
            ("SELECT VALUE d.b FROM c JOIN (SELECT VALUE c) AS d", "*"),
            ("SELECT VALUE x.b FROM c.a AS x", "a"),
            ("SELECT VALUE COUNT(1) FROM c WHERE c.a = 1", "a"),
            ("SELECT VALUE COUNT(c) FROM c", "*"),
            ("SELECT c.k, SUM(c.n) AS n FROM c GROUP BY c.k", "k,n"),
            ("SELECT VALUE c.low FROM c", "name"),
            ("SELECT VALUE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = c.a) FROM c", "a,tags"),
            ("SELECT VALUE ARRAY(SELECT VALUE c.b FROM t IN c.tags) FROM c", "b,tags"),
            ("SELECT VALUE udf.f(c) FROM c", "*"),
            ("SELECT VALUE udf.f(c.a) FROM c", "a"),
            ("SELECT VALUE x.a FROM (SELECT DISTINCT c.a FROM c) AS x", "*"),
            ("SELECT VALUE x.b FROM (SELECT c.a AS b FROM c) AS x", "a"),
        ] {
            assert_eq!(needs(text), expected, "{text}");
        }
    }
}
