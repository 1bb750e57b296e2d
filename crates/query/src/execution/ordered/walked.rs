//! The index that an order follows in one partition, and what of it a filter allows.

use bytes::Bytes;

use crate::execution::{
    candidates::{Node, Ranges},
    ordered::{Order, OrderIndex, invert},
};
use crate::sought::{DEFINED, Span};

/// An index to walk in one partition.
pub(crate) struct Walked {
    /// The prefix of its keys.
    pub(crate) prefix: Bytes,
    /// The prefixes of each member's own index, which the filter uses for its values.
    pub(crate) members: Vec<Bytes>,
}

impl Walked {
    /// The id of the path, if the index has one path.
    pub(crate) fn path_id(&self) -> u64 {
        index::key::id_at(&self.prefix).unwrap_or_default()
    }

    /// The rest of a filter when the walk restricts itself to the ranges of its own path.
    pub(crate) fn rest(&self, node: &Node) -> Node {
        match node {
            node if self.is_own(node) => Node::Everything,
            Node::And(nodes) => {
                Node::and(nodes.iter().filter(|node| !self.is_own(node)).cloned().collect())
            }
            node => node.clone(),
        }
    }

    /// Whether a filter has ranges to which the walk restricts itself.
    pub(crate) fn restricts(&self, node: &Node) -> bool {
        match node {
            Node::And(nodes) => nodes.iter().any(|node| self.is_own(node)),
            node => self.is_own(node),
        }
    }

    fn is_own(&self, node: &Node) -> bool {
        matches!(node, Node::Ranges(ranges) if self.prefix[..] == ranges.prefix
            && ranges.is_unique && ranges.check.is_none())
    }

    /// The ranges of its entries that the filter allows, ascending.
    pub(super) fn spans(&self, node: &Node, order: &Order) -> Vec<Span> {
        let whole = |low: Vec<u8>| vec![Span { low, high: vec![u8::MAX], is_point: false }];
        match &order.index {
            Some(OrderIndex::Path { has_absent, .. }) => match self.own_ranges(node) {
                Some(ranges) => ranges.spans.clone(),
                // An earlier policy may have left entries for documents without a value.
                None => whole(if *has_absent { vec![] } else { vec![DEFINED] }),
            },
            Some(OrderIndex::Composite { .. }) => {
                let mut low = Vec::new();
                let is_first_descending = order.descends.first() == Some(&true);
                for (member, descends) in self.members.iter().zip(&order.descends) {
                    let Some([Span { low: value, is_point: true, .. }]) =
                        ranges_of(node, member).map(|ranges| &ranges.spans[..])
                    else {
                        break;
                    };
                    let start = low.len();
                    low.extend_from_slice(value);
                    // Members are stored relative to the first one, which is stored ascending.
                    if *descends != is_first_descending {
                        invert(&mut low[start..]);
                    }
                }
                let mut high = low.clone();
                high.push(u8::MAX);
                vec![Span { low, high, is_point: false }]
            }
            None => whole(vec![]),
        }
    }

    /// The filter's ranges of the value by which an index of one path is ordered.
    pub(super) fn own_ranges<'a>(&self, node: &'a Node) -> Option<&'a Ranges> {
        self.members.first().and_then(|member| ranges_of(node, member))
    }
}

/// The filter's ranges of values under a prefix.
fn ranges_of<'a>(node: &'a Node, prefix: &[u8]) -> Option<&'a Ranges> {
    match node {
        Node::Ranges(ranges) => (ranges.prefix == prefix && ranges.is_unique).then_some(ranges),
        Node::And(nodes) => nodes.iter().find_map(|node| ranges_of(node, prefix)),
        _ => None,
    }
}
