//! Arrays: searching, cutting, joining, and the aggregates over the elements of one array.

use value::{Object, Value, order};

use super::{
    Function, all, any, array, clamp_to_usize, double, flag, length, set, text, truncated,
};

/// Values that are looked for in an array one by one.
const SEARCHES_MAX: usize = 8;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("ARRAY_CONCAT", 2..=usize::MAX, |args, _| concat(args).unwrap_or_default()),
    Function::new("ARRAY_CONTAINS", 2..=3, |args, _| contains(args).unwrap_or_default()),
    // Appears in the queries that SDKs rewrite.
    Function::new("_TRY_ARRAY_CONTAINS", 2..=3, |args, _| contains(args).unwrap_or_default()),
    Function::new("ARRAY_CONTAINS_ANY", 2..=usize::MAX, |args, _| {
        contains_each(args).and_then(any).map(Value::from).unwrap_or_default()
    }),
    Function::new("ARRAY_CONTAINS_ALL", 2..=usize::MAX, |args, _| {
        contains_each(args).and_then(all).map(Value::from).unwrap_or_default()
    }),
    Function::new("ARRAY_LENGTH", 1..=1, |args, _| {
        array(args, 0).map(|array| length(array.len())).unwrap_or_default()
    }),
    Function::new("ARRAY_SLICE", 2..=3, |args, _| slice(args).unwrap_or_default()),
    Function::new("ARRAY_SUM", 1..=1, |args, _| {
        doubles(args).map(|all| Value::from(sum(&all))).unwrap_or_default()
    }),
    Function::new("ARRAY_AVG", 1..=1, |args, _| average(args).unwrap_or_default()),
    Function::new("ARRAY_MEDIAN", 1..=1, |args, _| median(args).unwrap_or_default()),
    Function::new("ARRAY_MIN", 1..=1, |args, _| {
        scalars(args)
            .and_then(|all| all.iter().min_by(|a, b| order::compare(a, b)))
            .cloned()
            .unwrap_or_default()
    }),
    Function::new("ARRAY_MAX", 1..=1, |args, _| {
        scalars(args)
            .and_then(|all| all.iter().max_by(|a, b| order::compare(a, b)))
            .cloned()
            .unwrap_or_default()
    }),
    Function::new("OBJECTTOARRAY", 1..=3, |args, _| object_to_array(args).unwrap_or_default()),
];

fn concat(args: &[Value]) -> Option<Value> {
    let arrays = args.iter().map(Value::as_array).collect::<Option<Vec<_>>>()?;
    Some(Value::from(arrays.concat()))
}

fn contains(args: &[Value]) -> Option<Value> {
    let (array, is_partial) = (array(args, 0)?, flag(args, 2)?);
    let wanted = args.get(1).filter(|wanted| !wanted.is_undefined())?;
    let found = if is_partial {
        array.iter().any(|element| has_parts(element, wanted))
    } else {
        array.contains(wanted)
    };
    Some(Value::from(found))
}

/// Whether `value` equals `wanted`, except that its objects may have further members.
fn has_parts(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| value.get(key).is_some_and(|value| has_parts(value, wanted))),
        (Value::Array(values), Value::Array(wanted)) => {
            values.len() == wanted.len()
                && values.iter().zip(wanted).all(|(value, wanted)| has_parts(value, wanted))
        }
        _ => value == wanted,
    }
}

/// Whether the array contains each of the other arguments; `None` for undefined ones.
fn contains_each(args: &[Value]) -> Option<impl Iterator<Item = Option<bool>>> {
    let (array, wanted) = args.split_first()?;
    let array = array.as_array()?;
    // One look at all elements for each of a few; a set of them for many.
    let set = (wanted.len() > SEARCHES_MAX).then(|| set::of(array));
    let is_in = move |wanted: &Value| match &set {
        Some(set) => set.contains(&set::Ordered(wanted)),
        None => array.contains(wanted),
    };
    Some(wanted.iter().map(move |wanted| (!wanted.is_undefined()).then(|| is_in(wanted))))
}

fn slice(args: &[Value]) -> Option<Value> {
    let (array, start) = (array(args, 0)?, truncated(args, 1)?);
    let count = if args.len() > 2 { clamp_to_usize(truncated(args, 2)?) } else { usize::MAX };
    let start = if start < 0 {
        array.len().saturating_sub(clamp_to_usize(start.saturating_neg()))
    } else {
        clamp_to_usize(start)
    };
    Some(Value::from(array.iter().skip(start).take(count).cloned().collect::<Vec<_>>()))
}

/// The elements, if all are numbers.
fn doubles(args: &[Value]) -> Option<Vec<f64>> {
    let array = array(args, 0)?;
    (0..array.len()).map(|index| double(array, index)).collect()
}

/// The sum, from a positive zero: that of no elements is 0, not -0.
fn sum(doubles: &[f64]) -> f64 {
    doubles.iter().fold(0.0, |sum, double| sum + double)
}

fn average(args: &[Value]) -> Option<Value> {
    let doubles = doubles(args).filter(|doubles| !doubles.is_empty())?;
    Some(Value::from(sum(&doubles) / doubles.len() as f64))
}

fn median(args: &[Value]) -> Option<Value> {
    let mut doubles = doubles(args).filter(|doubles| !doubles.is_empty())?;
    doubles.sort_by(f64::total_cmp);
    let middle = doubles.len() / 2;
    let median = if doubles.len() % 2 == 1 {
        doubles[middle]
    } else {
        f64::midpoint(doubles[middle - 1], doubles[middle])
    };
    Some(Value::from(median))
}

/// The elements, if none of them is an array or object.
fn scalars(args: &[Value]) -> Option<&[Value]> {
    let is_compound = |value: &Value| matches!(value, Value::Array(_) | Value::Object(_));
    array(args, 0).filter(|array| !array.iter().any(is_compound))
}

/// One object for each member, with its key and value under the given names.
fn object_to_array(args: &[Value]) -> Option<Value> {
    let object = args.first()?.as_object()?;
    let key_name = if args.len() > 1 { text(args, 1)? } else { "k" };
    let value_name = if args.len() > 2 { text(args, 2)? } else { "v" };
    let pair = |(key, value): (&str, &Value)| {
        let mut pair = Object::new();
        pair.insert(key_name, key);
        pair.insert(value_name, value.clone());
        Value::from(pair)
    };
    Some(Value::from(object.iter().map(pair).collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn elements_are_found() {
        check(&[
            ("ARRAY_CONTAINS", r#"[["1"],1]"#, "false"),
            ("ARRAY_CONTAINS", "[[],1]", "false"),
            ("ARRAY_CONTAINS", "[[1,2.0],2]", "true"),
            ("ARRAY_CONTAINS", r#"[[1],"~"]"#, ""),
            ("ARRAY_CONTAINS", "[1,1]", ""),
            ("ARRAY_CONTAINS", "[[1],1,null]", ""),
            ("ARRAY_CONTAINS", r#"[[{"a":1,"b":2}],{"a":1}]"#, "false"),
            ("ARRAY_CONTAINS", r#"[[{"a":1,"b":2}],{"b":2,"a":1}]"#, "true"),
            ("ARRAY_CONTAINS", r#"[[{"a":1,"b":2}],{"a":1},true]"#, "true"),
            ("ARRAY_CONTAINS", r#"[[{"a":{"x":1,"y":2}}],{"a":{"x":1}},true]"#, "true"),
            ("ARRAY_CONTAINS", r#"[[{"a":[1,2]}],{"a":[1]},true]"#, "false"),
            ("ARRAY_CONTAINS", r#"[[{"a":1}],{"a":2},true]"#, "false"),
            ("_TRY_ARRAY_CONTAINS", "[[1],1]", "true"),
            ("ARRAY_CONTAINS_ANY", "[[1,2],9,2]", "true"),
            ("ARRAY_CONTAINS_ANY", "[[1,2],8,9]", "false"),
            ("ARRAY_CONTAINS_ANY", r#"[[1,2],5,"~"]"#, ""),
            ("ARRAY_CONTAINS_ANY", r#"[[1,2],"~",1]"#, "true"),
            ("ARRAY_CONTAINS_ANY", r#"["x",1]"#, ""),
            ("ARRAY_CONTAINS_ALL", "[[1,2],1,2]", "true"),
            ("ARRAY_CONTAINS_ALL", "[[1,2],1,3]", "false"),
            ("ARRAY_CONTAINS_ALL", r#"[[1,2],1,"~"]"#, ""),
            ("ARRAY_CONTAINS_ALL", r#"[[1,2],"~",3]"#, "false"),
        ]);
    }

    #[test]
    fn arrays_are_cut_and_joined() {
        check(&[
            ("ARRAY_CONCAT", "[[1],[2,3],[]]", "[1,2,3]"),
            ("ARRAY_CONCAT", "[[1],2]", ""),
            ("ARRAY_LENGTH", "[[1,2,3]]", "3"),
            ("ARRAY_LENGTH", r#"["abc"]"#, ""),
            ("ARRAY_SLICE", "[[1,2,3,4],1,2]", "[2,3]"),
            ("ARRAY_SLICE", "[[1,2,3],-2]", "[2,3]"),
            ("ARRAY_SLICE", "[[1,2,3],-2,1]", "[2]"),
            ("ARRAY_SLICE", "[[1,2,3],-9]", "[1,2,3]"),
            ("ARRAY_SLICE", "[[1,2,3],1]", "[2,3]"),
            ("ARRAY_SLICE", "[[1,2,3],0,99]", "[1,2,3]"),
            ("ARRAY_SLICE", "[[1,2,3],3]", "[]"),
            ("ARRAY_SLICE", "[[1,2,3],0,-1]", "[]"),
            ("ARRAY_SLICE", r#"[[1,2,3],"0"]"#, ""),
            ("ObjectToArray", r#"[{"a":1,"b":2}]"#, r#"[{"k":"a","v":1},{"k":"b","v":2}]"#),
            ("ObjectToArray", r#"[{"a":1},"n"]"#, r#"[{"n":"a","v":1}]"#),
            ("ObjectToArray", r#"[{"a":1},"n","w"]"#, r#"[{"n":"a","w":1}]"#),
            ("ObjectToArray", "[5]", ""),
            ("ObjectToArray", "[{},1]", ""),
        ]);
    }

    #[test]
    fn elements_are_summed_up() {
        check(&[
            ("ARRAY_SUM", "[[1,2.5]]", "3.5"),
            ("ARRAY_SUM", "[[]]", "0"),
            ("ARRAY_SUM", r#"[[1,"a"]]"#, ""),
            ("ARRAY_AVG", "[[2,4]]", "3"),
            ("ARRAY_AVG", "[[]]", ""),
            ("ARRAY_MEDIAN", "[[9,1,5]]", "5"),
            ("ARRAY_MEDIAN", "[[4,1,3,2]]", "2.5"),
            ("ARRAY_MEDIAN", "[[]]", ""),
            ("ARRAY_MIN", r#"[[3,"a",null]]"#, "null"),
            ("ARRAY_MAX", r#"[[3,"a",null]]"#, r#""a""#),
            ("ARRAY_MAX", "[[3,[]]]", ""),
            ("ARRAY_MIN", "[[]]", ""),
        ]);
    }
}
