//! Choosing between values that are already computed: nothing here has side effects.

use value::Value;

use super::{Function, integer};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("IIF", 3..=3, |args, _| {
        let is_true = args.first().and_then(Value::as_bool) == Some(true);
        args.get(if is_true { 1 } else { 2 }).cloned().unwrap_or_default()
    }),
    // The first choice is number 1, and argument 1.
    Function::new("CHOOSE", 2..=usize::MAX, |args, _| {
        let place = integer(args, 0).and_then(|place| usize::try_from(place).ok());
        let chosen = place.filter(|place| *place > 0).and_then(|place| args.get(place));
        chosen.cloned().unwrap_or_default()
    }),
];

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn values_are_chosen() {
        check(&[
            ("IIF", "[true,1,2]", "1"),
            ("IIF", "[false,1,2]", "2"),
            ("IIF", r#"["true",1,2]"#, "2"),
            ("IIF", r#"["~",1,2]"#, "2"),
            ("IIF", r#"[true,"~",2]"#, ""),
            ("CHOOSE", r#"[2,"a","b"]"#, r#""b""#),
            ("CHOOSE", r#"[1,"a","~"]"#, r#""a""#),
            ("CHOOSE", r#"[0,"a","b"]"#, ""),
            ("CHOOSE", r#"[3,"a","b"]"#, ""),
            ("CHOOSE", r#"[-1,"a","b"]"#, ""),
            ("CHOOSE", r#"[1.5,"a","b"]"#, ""),
        ]);
    }
}
