//! Catalog rows as JSON text: what is written, and how it is read back.

use bytes::Bytes;
use protocol::{
    etag::Etag,
    rid::{CollectionRid, DatabaseRid, OfferRid},
};
use value::{Object, Value, json};

use crate::{
    catalog::{Collection, Database, Offer, Retired, Throughput, Version, number, to_bytes},
    definition::Definition,
    rows::Damaged,
};

/// A database row, without its collections.
pub(crate) fn encode_database(database: &Database) -> Bytes {
    let mut row = Object::new();
    row.insert("id", database.id.as_str());
    insert_version(&mut row, database.version);
    row.insert("nextCollection", i64::from(database.next_collection));
    to_bytes(row)
}

pub(crate) fn decode_database(rid: DatabaseRid, bytes: &[u8]) -> Result<Database, Damaged> {
    let row = parse(bytes)?;
    let next_collection = small(&row, "nextCollection")?;
    Ok(Database::new(rid, text(&row, "id")?, version(&row)?, next_collection))
}

/// A collection row names its partitions; opening them is the caller's business.
pub(crate) fn encode_collection(collection: &Collection) -> Bytes {
    let mut row = Object::new();
    row.insert("definition", Value::Object(collection.definition.json.clone()));
    insert_version(&mut row, collection.version);
    row.insert("indexGeneration", i64::from(collection.index_generation));
    let retired = collection.retired.iter().map(|retired| {
        let mut entry = Object::new();
        entry.insert("generation", i64::from(retired.generation));
        entry.insert("definition", Value::Object(retired.definition.json.clone()));
        Value::Object(entry)
    });
    row.insert("retired", Value::Array(retired.collect()));
    row.insert("mapVersion", i64::from(collection.map_version));
    row.insert("nextRangeId", i64::from(collection.next_range_id));
    let ranges = collection.partitions.iter().map(|partition| {
        let mut range = Object::new();
        range.insert("id", i64::from(partition.range_id));
        range.insert("slotMin", i64::from(partition.slots.start));
        range.insert("slotMax", i64::from(partition.slots.end));
        Value::Object(range)
    });
    row.insert("ranges", Value::Array(ranges.collect()));
    to_bytes(row)
}

/// A collection as stored: the partitions by range id and slots.
pub(crate) struct CollectionRow {
    pub(crate) collection: Collection,
    pub(crate) ranges: Vec<(u32, std::ops::Range<u32>)>,
}

pub(crate) fn decode_collection(
    rid: CollectionRid,
    database_id: &str,
    bytes: &[u8],
) -> Result<CollectionRow, Damaged> {
    let row = parse(bytes)?;
    let definition = Definition::restore(row.get("definition")).map_err(|_| DAMAGED)?;
    let mut ranges = Vec::new();
    for range in row.get("ranges").as_array().ok_or(DAMAGED)? {
        ranges.push((small(range, "id")?, small(range, "slotMin")?..small(range, "slotMax")?));
    }
    if ranges.is_empty() {
        return Err(DAMAGED);
    }
    let (index_generation, retired) = policies(&row, &definition)?;
    let collection = Collection {
        rid,
        database_id: database_id.to_owned(),
        definition: definition.into(),
        version: version(&row)?,
        index_generation,
        retired,
        partitions: Vec::new(),
        map_version: small(&row, "mapVersion")?,
        next_range_id: small(&row, "nextRangeId")?,
    };
    Ok(CollectionRow { collection, ranges })
}

/// The generation of the policy in force, and the policies of the past. A row from before there
/// was an index has no list of them: its documents have no terms, whatever its policy says.
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
    Ok((generation, retired.collect::<Result<_, Damaged>>()?))
}

pub(crate) fn encode_offer(offer: &Offer) -> Bytes {
    let mut row = Object::new();
    insert_version(&mut row, offer.version);
    row.insert("resource", offer.resource.as_str());
    row.insert("resourceRid", offer.resource_rid.as_str());
    row.insert("highest", i64::from(offer.highest));
    row.insert("rate", i64::from(offer.throughput.rate()));
    row.insert("asked", offer.is_asked);
    match &offer.throughput {
        Throughput::Manual(_) => {}
        Throughput::Autoscale { upgrade_policy, .. } => {
            row.insert("autoscale", true);
            if let Some(policy) = upgrade_policy {
                row.insert("upgradePolicy", policy.clone());
            }
        }
        Throughput::Level { name, .. } => {
            row.insert("level", name.as_str());
        }
    }
    to_bytes(row)
}

pub(crate) fn decode_offer(rid: OfferRid, bytes: &[u8]) -> Result<Offer, Damaged> {
    let row = parse(bytes)?;
    let rate = small(&row, "rate")?;
    let throughput = if row.get("autoscale").as_bool() == Some(true) {
        let policy = row.get("upgradePolicy");
        let upgrade_policy = (!policy.is_undefined()).then(|| policy.clone());
        Throughput::Autoscale { max: rate, upgrade_policy }
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
        // Rows from before this was recorded count as asked for.
        is_asked: row.get("asked").as_bool() != Some(false),
    })
}

const DAMAGED: Damaged = Damaged("catalog");

fn insert_version(row: &mut Object, version: Version) {
    row.insert("etag", version.etag.to_string());
    row.insert("ts", number(version.ts));
}

fn version(row: &Value) -> Result<Version, Damaged> {
    let etag = Etag::parse(&text(row, "etag")?).ok_or(DAMAGED)?;
    let ts = row.get("ts").as_i64().and_then(|ts| u64::try_from(ts).ok()).ok_or(DAMAGED)?;
    Ok(Version { etag, ts })
}

fn parse(bytes: &[u8]) -> Result<Value, Damaged> {
    json::parse(bytes).map_err(|_| DAMAGED)
}

fn text(row: &Value, key: &str) -> Result<String, Damaged> {
    row.get(key).as_str().map(str::to_owned).ok_or(DAMAGED)
}

fn small(row: &Value, key: &str) -> Result<u32, Damaged> {
    row.get(key).as_i64().and_then(|number| u32::try_from(number).ok()).ok_or(DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;

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
