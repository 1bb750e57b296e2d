//! Finds out which part of a place is missing, if a 404 does not say so.

use value::Value;

use super::{Call, Client, place::Place};

/// Maximum number of names in a message.
const NAMES_MAX: usize = 8;

impl Client<'_> {
    /// Asks the server which part of a place is missing, and returns a message that lists the
    /// existing names. `None` if nothing is missing, or the server does not say.
    pub(super) async fn missing(&mut self, place: &Place) -> Option<String> {
        let database = place.database.as_deref()?;
        let owner = Place::database(database);
        if self.is_missing(&owner, "dbs").await? {
            let names = self.names(&Place::account(), "dbs", "Databases").await;
            let others = others(names, ": the server has");
            return Some(format!("there is no database `{database}`{others}"));
        }
        let collection = place.collection.as_deref()?;
        if self.is_missing(place, "colls").await? {
            let names = self.names(&owner, "colls", "DocumentCollections").await;
            let others = others(names, ", which has");
            return Some(format!(
                "there is no collection `{collection}` in the database `{database}`{others}"
            ));
        }
        Some(format!("there is no {}", place.item.as_deref()?))
    }

    async fn is_missing(&mut self, place: &Place, kind: &str) -> Option<bool> {
        let (path, link) = (place.path(), place.link());
        let answer = self.call(&Call::get(&path, kind, &link)).await.ok()?;
        Some(answer.status == 404)
    }

    /// The first names of a feed.
    async fn names(&mut self, owner: &Place, kind: &str, name: &str) -> Option<Vec<String>> {
        let (path, link) = (format!("{}/{kind}", owner.path()), owner.link());
        let answer = self.call(&Call::get(&path, kind, &link)).await.ok()?;
        let page = answer.json().ok().filter(|_| answer.status == 200)?;
        let ids = page.get(name).as_array()?.iter().map(|it| it.get("id"));
        Some(ids.filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

/// `, which has a, b and others`, or `, which has none`.
fn others(names: Option<Vec<String>>, owner: &str) -> String {
    let Some(names) = names else { return String::new() };
    let mut shown: Vec<String> =
        names.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    if names.len() > NAMES_MAX {
        shown.push("others".to_owned());
    }
    let last = shown.pop().unwrap_or_else(|| "none".to_owned());
    match shown.as_slice() {
        [] => format!("{owner} {last}"),
        before => format!("{owner} {} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_are_there_are_told() {
        let text = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            others(Some(names), ", which has")
        };
        assert_eq!(text(&[]), ", which has none");
        assert_eq!(text(&["a"]), ", which has `a`");
        assert_eq!(text(&["a", "b", "c"]), ", which has `a`, `b` and `c`");
        assert!(text(&["x"; 20]).ends_with("`x` and others"));
        assert_eq!(text(&["x"; 20]).matches("`x`").count(), NAMES_MAX);
        assert_eq!(others(None, ""), "");
    }
}
