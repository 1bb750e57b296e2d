//! Encodes and decodes catalog rows as JSON.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    etag::Etag,
    rid::{CollectionRid, DatabaseRid, OfferRid},
};
use value::{
    Object, Value, json,
    partition_key::{Epk, Hashing},
};

use crate::{
    Collection, Database, HighWater, Offer, Retired, Throughput, Version,
    area::{Area, Edge},
    definition::Definition,
    number,
    numbers::{Class, SharedSlot},
    range::{LOCAL_GROUP, Range},
    to_bytes,
};

/// A row that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable {0} row")]
pub struct Damaged(pub &'static str);

/// Encodes a database row, without its collections.
pub(crate) fn encode_database(database: &Database) -> Bytes {
    let mut row = Object::new();
    row.insert("id", database.id.as_str());
    insert_version(&mut row, database.version);
    row.insert("nextCollection", i64::from(database.next_collection));
    to_bytes(row)
}

/// Decodes a database row, without its collections.
pub(crate) fn decode_database(rid: DatabaseRid, bytes: &[u8]) -> Result<Database, Damaged> {
    let row = parse(bytes)?;
    let next_collection = small(&row, "nextCollection")?;
    Ok(Database::new(rid, text(&row, "id")?, version(&row)?, next_collection))
}

/// Encodes a collection row: its definition and ranges, without its scripts.
pub(crate) fn encode_collection(collection: &Collection) -> Bytes {
    let mut row = Object::new();
    row.insert("definition", Value::Object(collection.definition.json.clone()));
    insert_version(&mut row, collection.version);
    row.insert("indexGeneration", i64::from(collection.index_generation));
    row.insert("upkeep", UPKEEP);
    let retired = collection.retired.iter().map(|retired| {
        let mut entry = Object::new();
        entry.insert("generation", i64::from(retired.generation));
        entry.insert("definition", Value::Object(retired.definition.json.clone()));
        Value::Object(entry)
    });
    row.insert("retired", Value::Array(retired.collect()));
    row.insert("mapVersion", i64::from(collection.map_version));
    row.insert("nextRangeId", i64::from(collection.next_range_id));
    let ranges = collection.ranges.iter().map(|range| encode_range(range));
    row.insert("ranges", Value::Array(ranges.collect()));
    let past = collection.past.iter().map(|(id, Area { start, end })| {
        let numbers = [*id, start.slot, end.slot].map(|number| Value::from(i64::from(number)));
        let mut range = numbers.to_vec();
        if start.inside.is_some() || end.inside.is_some() {
            let text = |edge: &Edge| edge.inside.as_ref().map(Epk::to_string).unwrap_or_default();
            range.extend([text(start).into(), text(end).into()]);
        }
        Value::Array(range)
    });
    row.insert("past", Value::Array(past.collect()));
    to_bytes(row)
}

fn encode_range(range: &Range) -> Value {
    let mut row = Object::new();
    row.insert("id", i64::from(range.id));
    row.insert("slotMin", i64::from(range.slots.start));
    row.insert("slotMax", i64::from(range.slots.end));
    let parents = range.parents.iter().map(|id| Value::from(i64::from(*id)));
    row.insert("parents", Value::Array(parents.collect()));
    // Only areas cut inside a slot have these.
    let Area { start, end } = &range.area;
    for (name, edge) in [("epkMin", start), ("epkMax", end)] {
        if let Some(epk) = &edge.inside {
            row.insert(name, epk.to_string());
        }
    }
    if !range.shared.is_empty() {
        let shared = range.shared.iter().map(|shared| {
            let mut entry = Object::new();
            entry.insert("slot", i64::from(shared.slot));
            entry.insert("step", number(shared.class.step));
            entry.insert("offset", number(shared.class.offset));
            Value::Object(entry)
        });
        row.insert("shared", Value::Array(shared.collect()));
    }
    // An embedded database has one group, so its rows stay as they were before groups.
    if range.group != LOCAL_GROUP {
        row.insert("group", range.group.as_str());
    }
    Value::Object(row)
}

/// Decodes a collection row, without its scripts.
pub(crate) fn decode_collection(
    rid: CollectionRid,
    database_id: &str,
    bytes: &[u8],
) -> Result<Collection, Damaged> {
    let row = parse(bytes)?;
    let definition = Definition::restore(row.get("definition")).map_err(|_| DAMAGED)?;
    let hashing = definition.partition_key.hashing;
    let ranges = row.get("ranges").as_array().filter(|ranges| !ranges.is_empty());
    let ranges = ranges.ok_or(DAMAGED)?.iter().map(|range| decode_range(range, hashing));
    let ranges = ranges.map(|range| range.map(Arc::new)).collect::<Result<Vec<_>, Damaged>>()?;
    let (index_generation, retired) = policies(&row, &definition)?;
    Ok(Collection {
        rid,
        database_id: database_id.to_owned(),
        definition: definition.into(),
        version: version(&row)?,
        index_generation,
        retired,
        ranges,
        map_version: small(&row, "mapVersion")?,
        next_range_id: small(&row, "nextRangeId")?,
        past: past_ranges(&row)?,
        // Scripts have their own rows.
        scripts: Arc::default(),
    })
}

fn decode_range(range: &Value, hashing: Hashing) -> Result<Range, Damaged> {
    let parents = range.get("parents").as_array().into_iter().flatten();
    let parents = parents.map(|id| id.as_i64().and_then(|id| u32::try_from(id).ok()));
    let parents = parents.collect::<Option<_>>().ok_or(DAMAGED)?;
    let edge = |name: &str| match range.get(name).as_str() {
        None => Ok(None),
        Some(text) => {
            let edge = Epk::parse_hex(text).ok().and_then(|epk| Edge::of_epk(&epk, hashing));
            edge.filter(|edge| edge.inside.is_some()).map(Some).ok_or(DAMAGED)
        }
    };
    let slots = small(range, "slotMin")?..small(range, "slotMax")?;
    let whole = Area::of_slots(slots.clone());
    let area = Area {
        start: edge("epkMin")?.unwrap_or(whole.start),
        end: edge("epkMax")?.unwrap_or(whole.end),
    };
    let shared = range.get("shared").as_array().into_iter().flatten().map(|entry| {
        let figure = |name| whole_number(entry, name).ok_or(DAMAGED);
        let class = Class::new(figure("step")?, figure("offset")?).ok_or(DAMAGED)?;
        Ok(SharedSlot { slot: small(entry, "slot")?, class })
    });
    let shared: Vec<SharedSlot> = shared.collect::<Result<_, Damaged>>()?;
    let is_shared = |slot| shared.iter().any(|shared| shared.slot == slot);
    if area.slots() != slots || !area.shared_slots().all(is_shared) {
        return Err(DAMAGED);
    }
    let group = range.get("group").as_str().unwrap_or(LOCAL_GROUP).to_owned();
    Ok(Range { shared, group, ..Range::new(small(range, "id")?, area, parents) })
}

/// Ranges that no longer exist. Rows older than splits have none.
fn past_ranges(row: &Value) -> Result<Vec<(u32, Area)>, Damaged> {
    let past = row.get("past").as_array().into_iter().flatten().map(|range| {
        let number = |at: usize| u32::try_from(range.as_array()?.get(at)?.as_i64()?).ok();
        let edge = |slot, at| {
            let inside = match range.as_array()?.get(at).and_then(Value::as_str) {
                None | Some("") => None,
                Some(text) => Some(Epk::parse_hex(text).ok()?),
            };
            Some(Edge { slot: number(slot)?, inside })
        };
        Some((number(0)?, Area { start: edge(1, 3)?, end: edge(2, 4)? }))
    });
    past.collect::<Option<_>>().ok_or(DAMAGED)
}

/// The version of the rows that documents have besides terms: expiry rows and unique key rows.
const UPKEEP: i64 = 1;

/// The generation of the current definition, and the earlier definitions. Rows older than the index
/// have no list of them: their documents have no terms, whatever the policy says. For rows older
/// than expiry and unique keys, those rows must still be created.
fn policies(row: &Value, definition: &Definition) -> Result<(u32, Vec<Retired>), Damaged> {
    let generation = small(row, "indexGeneration")?;
    let restore = |json: &Value| Definition::restore(json).map_err(|_| DAMAGED);
    let Some(retired) = row.get("retired").as_array() else {
        let mut json = definition.json.clone();
        let mut none = Object::new();
        none.insert("indexingMode", "none");
        none.insert("automatic", false);
        json.insert("indexingPolicy", none);
        json.remove("defaultTtl");
        let definition = restore(&Value::Object(json))?.into();
        return Ok((generation + 1, vec![Retired { generation, definition }]));
    };
    let retired = retired.iter().map(|entry| {
        let definition = restore(entry.get("definition"))?.into();
        Ok(Retired { generation: small(entry, "generation")?, definition })
    });
    let mut retired: Vec<Retired> = retired.collect::<Result<_, Damaged>>()?;
    let needs_rows = definition.default_ttl.is_some() || !definition.unique_keys.is_empty();
    if needs_rows && row.get("upkeep").as_i64().is_none() {
        retired.push(Retired { generation, definition: definition.clone().into() });
        return Ok((generation + 1, retired));
    }
    Ok((generation, retired))
}

/// Encodes an offer row, without its rid, which is in the key.
pub(crate) fn encode_offer(offer: &Offer) -> Bytes {
    let mut row = Object::new();
    insert_version(&mut row, offer.version);
    row.insert("resource", offer.resource.as_str());
    row.insert("resourceRid", offer.resource_rid.as_str());
    row.insert("highest", i64::from(offer.highest));
    row.insert("storageKb", number(offer.storage_kb.get()));
    row.insert("rate", i64::from(offer.throughput.rate()));
    row.insert("asked", offer.is_asked);
    match &offer.throughput {
        Throughput::Manual(_) => {}
        Throughput::Autoscale { increment_percent, .. } => {
            row.insert("autoscale", true);
            if let Some(percent) = increment_percent {
                row.insert("incrementPercent", i64::from(*percent));
            }
        }
        Throughput::Level { name, .. } => {
            row.insert("level", name.as_str());
        }
    }
    to_bytes(row)
}

/// Decodes an offer row.
pub(crate) fn decode_offer(rid: OfferRid, bytes: &[u8]) -> Result<Offer, Damaged> {
    let row = parse(bytes)?;
    let rate = small(&row, "rate")?;
    let throughput = if row.get("autoscale").as_bool() == Some(true) {
        // Rows written before the percentage was checked contain the whole policy.
        let policy = row.get("upgradePolicy").get("throughputPolicy");
        let percent = [&row, policy].map(|owner| owner.get("incrementPercent").as_i64());
        let percent = percent.into_iter().flatten().find_map(|percent| u8::try_from(percent).ok());
        Throughput::Autoscale { max: rate, increment_percent: percent.filter(|it| *it <= 100) }
    } else if let Some(name) = row.get("level").as_str() {
        Throughput::Level { name: name.to_owned(), rate }
    } else {
        Throughput::Manual(rate)
    };
    Ok(Offer {
        rid,
        version: version(&row)?,
        resource: text(&row, "resource")?,
        resource_rid: text(&row, "resourceRid")?,
        throughput,
        highest: small(&row, "highest")?,
        // Older rows do not have it.
        storage_kb: HighWater::new(whole_number(&row, "storageKb").unwrap_or(0)),
        // In older rows that lack this, the throughput counts as requested.
        is_asked: row.get("asked").as_bool() != Some(false),
    })
}

pub(super) const DAMAGED: Damaged = Damaged("catalog");

pub(super) fn insert_version(row: &mut Object, version: Version) {
    row.insert("etag", version.etag.to_string());
    row.insert("ts", number(version.ts));
}

pub(super) fn version(row: &Value) -> Result<Version, Damaged> {
    let etag = Etag::parse(&text(row, "etag")?).ok_or(DAMAGED)?;
    let ts = row.get("ts").as_i64().and_then(|ts| u64::try_from(ts).ok()).ok_or(DAMAGED)?;
    Ok(Version { etag, ts })
}

pub(super) fn parse(bytes: &[u8]) -> Result<Value, Damaged> {
    json::parse(bytes).map_err(|_| DAMAGED)
}

pub(super) fn text(row: &Value, key: &str) -> Result<String, Damaged> {
    row.get(key).as_str().map(str::to_owned).ok_or(DAMAGED)
}

pub(super) fn object(row: &Value, key: &str) -> Result<Object, Damaged> {
    row.get(key).as_object().cloned().ok_or(DAMAGED)
}

fn whole_number(row: &Value, key: &str) -> Option<u64> {
    row.get(key).as_i64().and_then(|number| u64::try_from(number).ok())
}

pub(super) fn small(row: &Value, key: &str) -> Result<u32, Damaged> {
    row.get(key).as_i64().and_then(|number| u32::try_from(number).ok()).ok_or(DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(more: &str) -> Offer {
        let row = format!(
            r#"{{"etag":"00000001-0000-0000-0000-000000000000","ts":1,"resource":"dbs/a/",
                "resourceRid":"a","highest":4000,"rate":4000,"autoscale":true{more}}}"#
        );
        decode_offer(OfferRid(1), row.as_bytes()).unwrap_or_else(|_| panic!("damaged: {row}"))
    }

    fn percent(offer: &Offer) -> Option<u8> {
        match offer.throughput {
            Throughput::Autoscale { max: 4000, increment_percent } => increment_percent,
            _ => panic!("{offer:?}"),
        }
    }

    #[test]
    fn offers_of_before_have_a_policy_instead_of_a_percentage() {
        let policy = |text: &str| percent(&decode(&format!(r#","upgradePolicy":{text}"#)));
        assert_eq!(policy(r#"{"throughputPolicy":{"incrementPercent":7}}"#), Some(7));
        // It was not checked then.
        for text in ["{}", "5", r#"{"throughputPolicy":{"incrementPercent":700}}"#] {
            assert_eq!(policy(text), None, "{text}");
        }
        assert_eq!(decode("").storage_kb.get(), 0);
    }

    #[test]
    fn offers_are_read_as_they_were_written() {
        let offer = decode(r#","incrementPercent":7,"storageKb":12345"#);
        assert_eq!((percent(&offer), offer.storage_kb.get()), (Some(7), 12345));
        let again = decode_offer(offer.rid, &encode_offer(&offer));
        assert!(again.is_ok_and(|again| again == offer));
    }

    #[test]
    fn offers_from_before_it_was_recorded_count_as_asked_for() {
        let rid = OfferRid(1);
        let row = br#"{"etag":"00000000-0000-0000-0000-000000000000","ts":1,"resource":"dbs/x/",
            "resourceRid":"x","highest":400,"rate":400}"#;
        let mut offer = decode_offer(rid, row).expect("an old row");
        assert!(offer.is_asked);
        offer.is_asked = false;
        assert_eq!(decode_offer(rid, &encode_offer(&offer)).expect("a row"), offer);
    }
}
