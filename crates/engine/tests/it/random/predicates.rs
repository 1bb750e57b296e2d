//! Random conditions: every kind that an index has something to say about, and some that it has not.

use crate::random::{Rng, array, number, object, scalar, shape, string, value};

/// A condition over `alias`, and the parameters that it uses.
pub(crate) struct Conditions {
    pub(crate) parameters: Vec<(String, String)>,
}

impl Conditions {
    /// A condition at most so deep.
    pub(crate) fn any(&mut self, rng: &mut Rng, alias: &str, depth: usize) -> String {
        if depth > 0 && rng.chance(45) {
            let (a, b) = (self.any(rng, alias, depth - 1), self.any(rng, alias, depth - 1));
            return match rng.below(6) {
                0 => format!("NOT ({a})"),
                1 | 2 => format!("({a} OR {b})"),
                _ => format!("({a} AND {b})"),
            };
        }
        match rng.below(5) {
            0 | 1 => self.comparison(rng, alias),
            2 => self.call(rng, alias),
            3 => self.of_arrays(rng, alias),
            _ => self.other(rng, alias),
        }
    }

    /// A constant, as it is or as a parameter.
    fn constant(&mut self, rng: &mut Rng, json: String) -> String {
        if rng.chance(25) {
            let name = format!("@p{}", self.parameters.len());
            self.parameters.push((name.clone(), json));
            return name;
        }
        json
    }

    fn comparison(&mut self, rng: &mut Rng, alias: &str) -> String {
        let path = path(rng, alias);
        let kind = rng.below(10);
        let mut one = |rng: &mut Rng| {
            let json = typical(rng, &path);
            self.constant(rng, json)
        };
        match kind {
            0..=2 => format!("{path} = {}", one(rng)),
            3 => format!("{path} != {}", one(rng)),
            4 => {
                let operator = rng.pick(&["<", "<=", ">", ">="]);
                format!("{path} {operator} {}", one(rng))
            }
            5 => {
                let operator = rng.pick(&["<", "<=", ">", ">=", "="]);
                format!("{} {operator} {path}", one(rng))
            }
            6 => {
                let not = rng.pick(&["", "NOT "]);
                format!("{path} {not}BETWEEN {} AND {}", one(rng), one(rng))
            }
            7 | 8 => {
                let not = rng.pick(&["", "", "NOT "]);
                let values: Vec<String> = (0..=rng.below(5)).map(|_| one(rng)).collect();
                format!("{path} {not}IN ({})", values.join(", "))
            }
            _ => format!("{path} >= {} AND {path} < {}", one(rng), one(rng)),
        }
    }

    fn call(&mut self, rng: &mut Rng, alias: &str) -> String {
        let path = path(rng, alias);
        match rng.below(7) {
            0 => format!("IS_DEFINED({path})"),
            1 => format!("NOT IS_DEFINED({path})"),
            2 | 3 => {
                let function = rng.pick(&[
                    "IS_NULL",
                    "IS_NUMBER",
                    "IS_STRING",
                    "IS_BOOL",
                    "IS_ARRAY",
                    "IS_OBJECT",
                    "IS_PRIMITIVE",
                    "IS_INTEGER",
                    "IS_FINITE_NUMBER",
                ]);
                format!("{}{function}({path})", rng.pick(&["", "", "NOT "]))
            }
            4 => {
                let function = rng.pick(&["STARTSWITH", "ENDSWITH", "CONTAINS", "STRINGEQUALS"]);
                let text = string(rng);
                let text = self.constant(rng, text);
                let ignores_case = rng.pick(&["", "", ", true", ", false"]);
                format!("{function}({path}, {text}{ignores_case})")
            }
            5 => {
                let pattern = rng.pick(&["a%", "%b", "%a%", "_", "a_c", "%", "", "x%", "[a-c]%"]);
                format!("{path} {}LIKE \"{pattern}\"", rng.pick(&["", "", "NOT "]))
            }
            _ => {
                let pattern = rng.pick(&["^a", "a", "^x+$", "^(a|b)", "B"]);
                let flags = rng.pick(&["", ", \"i\""]);
                format!("RegexMatch({path}, \"{pattern}\"{flags})")
            }
        }
    }

    fn of_arrays(&mut self, rng: &mut Rng, alias: &str) -> String {
        let list = if alias == "c" { "c.l".to_owned() } else { format!("{alias}.b") };
        match rng.below(7) {
            0 | 1 => {
                let json = value(rng, 1);
                let wanted = self.constant(rng, json);
                format!("ARRAY_CONTAINS({list}, {wanted})")
            }
            2 => {
                let json = object(rng, 0);
                let wanted = self.constant(rng, json);
                format!("ARRAY_CONTAINS({list}, {wanted}, true)")
            }
            3 => format!("ARRAY_LENGTH({list}) > {}", rng.below(3)),
            4 => {
                let inner = self.comparison(rng, "x");
                format!("EXISTS(SELECT VALUE x FROM x IN {list} WHERE {inner})")
            }
            5 => {
                let wanted = scalar(rng);
                format!("EXISTS(SELECT VALUE x FROM x IN {list} WHERE x.a = {wanted} OR x > 1)")
            }
            _ => {
                let (json, path) = (array(rng, 0), path(rng, alias));
                let list = self.constant(rng, json);
                format!("ARRAY_CONTAINS({list}, {path})")
            }
        }
    }

    fn other(&mut self, rng: &mut Rng, alias: &str) -> String {
        let (path, another) = (path(rng, alias), path(rng, alias));
        let constant = scalar(rng);
        match rng.below(15) {
            13 | 14 if alias == "c" => self.of_shapes(rng),
            0 => format!("LOWER({path}) = {}", string(rng)),
            1 => format!("LENGTH({path}) > {}", rng.below(4)),
            2 => format!("ABS({path}) = {}", rng.below(3)),
            3 => format!("{path} % 2 = 0"),
            4 => format!("{path} + 1 > {}", number(rng)),
            5 => format!("({path} ?? {constant}) = {constant}"),
            6 => format!("{path} = {another}"),
            7 => path,
            8 => format!("({path} = {constant} ? true : {another})"),
            9 => rng.pick(&["true", "false", "undefined", "1 = 1"]).to_owned(),
            10 => format!("{path} = {{\"a\": {constant}}}"),
            11 => format!("CONCAT({path}, \"b\") = \"ab\""),
            _ => format!("{path} < {another}"),
        }
    }

    fn of_shapes(&mut self, rng: &mut Rng) -> String {
        let json = shape(rng);
        let shape = self.constant(rng, json);
        match rng.below(4) {
            0 => format!("ST_WITHIN(c.g, {shape})"),
            1 => format!("ST_INTERSECTS({shape}, c.g)"),
            2 => format!("ST_DISTANCE(c.g, {shape}) < {}", rng.below(6) * 1_000_000),
            _ => format!("ST_DISTANCE({shape}, c.g) >= {}", rng.below(6) * 1_000_000),
        }
    }
}

/// A constant that may well be among the values at the path.
fn typical(rng: &mut Rng, path: &str) -> String {
    match path {
        _ if rng.chance(20) => value(rng, 1),
        "c.a" => rng.pick(&["1", "2", "\"a\"", "\"b\"", "null", "true"]).to_owned(),
        "c.n" => number(rng),
        "c.s" => string(rng),
        "c.id" => format!("\"d{}\"", rng.below(60)),
        "c.pk" => rng.pick(&["\"a\"", "\"b\"", "1", "null", "true", "0"]).to_owned(),
        _ => scalar(rng),
    }
}

/// A path that documents often have.
pub(crate) fn path(rng: &mut Rng, alias: &str) -> String {
    if alias != "c" {
        return format!("{alias}{}", rng.pick(&["", "", ".a", ".b", ".n"]));
    }
    let path = rng.pick(&[
        "c.a",
        "c.a",
        "c.a",
        "c.n",
        "c.n",
        "c.s",
        "c.s",
        "c.b",
        "c.o.a",
        "c.o.b",
        "c.o.b.a",
        "c.l",
        "c.l[0]",
        "c.l[1].a",
        "c.o",
        "c[\"k k\"]",
        "c[\"é\"]",
        "c.id",
        "c.pk",
        "c._ts",
        "c.absent",
    ]);
    path.to_owned()
}
