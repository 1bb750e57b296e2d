//! Full text and vectors: names and arities only. A call with the wrong number of arguments gets
//! the service's words for that; any other is refused because nothing here can compute it.

use super::Function;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::unsupported("FULLTEXTCONTAINS", 2..=2),
    Function::unsupported("FULLTEXTCONTAINSALL", 2..=usize::MAX),
    Function::unsupported("FULLTEXTCONTAINSANY", 2..=usize::MAX),
    Function::unsupported("FULLTEXTSCORE", 2..=usize::MAX),
    Function::unsupported("RRF", 2..=usize::MAX),
    Function::unsupported("VECTORDISTANCE", 2..=4),
    // These three appear in the queries that the planner writes for a ranking.
    Function::unsupported("_FULLTEXTWORDCOUNT", 1..=1),
    Function::unsupported("_FULLTEXTSCORE", 5..=5),
    Function::unsupported("_VECTORSCORE", 2..=4),
];

#[cfg(test)]
mod tests {
    use crate::functions::lookup;

    #[test]
    fn names_are_known_but_not_supported() {
        let names = ["FullTextContains", "FULLTEXT_CONTAINS_ALL", "RRF", "VectorDistance"];
        for name in names.into_iter().chain(["_FullTextScore", "_VectorScore"]) {
            assert!(lookup(name).is_some_and(|function| !function.is_supported), "{name}");
        }
        assert!(lookup("ABS").is_some_and(|function| function.is_supported));
    }
}
