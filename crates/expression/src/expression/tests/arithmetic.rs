//! Numbers.

use super::*;

#[test]
fn sums_and_products_have_the_widest_kind() {
    check(&[
        (bson!({"$add": []}), is(0)),
        (bson!({"$add": [1, 2]}), is(3)),
        (bson!({"$add": [i32::MAX, 1]}), is(2_147_483_648_i64)),
        (bson!({"$add": [i32::MAX, 1, -1]}), is(i32::MAX)),
        (bson!({"$add": [1, 2_i64]}), is(3_i64)),
        (bson!({"$add": [1, 0.5]}), is(1.5)),
        (bson!({"$add": [i64::MAX, 1]}), is(9_223_372_036_854_775_808.0)),
        (bson!({"$add": ["$decimal", 1]}), is(decimal("2.50"))),
        (bson!({"$add": [1, null]}), NULL),
        (bson!({"$add": [1, "$missing"]}), NULL),
        (bson!({"$add": ["$date", 1000]}), is(date("2024-02-29T12:34:57.789Z"))),
        (bson!({"$add": [1.6, "$date"]}), is(date("2024-02-29T12:34:56.791Z"))),
        (
            bson!({"$add": ["$date", "$date"]}),
            fails(16_612, "only one date allowed in an $add expression"),
        ),
        (bson!({"$add": ["$date", 1e300]}), fails(15, "date overflow in $add")),
        (
            bson!({"$add": [1, "x"]}),
            fails(14, "$add only supports numeric or date types, not string"),
        ),
        (bson!({"$subtract": [5, 7]}), is(-2)),
        (bson!({"$subtract": [i32::MIN, 1]}), is(-2_147_483_649_i64)),
        (bson!({"$subtract": [i64::MIN, 1]}), is(-9_223_372_036_854_775_808.0)),
        (bson!({"$subtract": ["$date", "$date"]}), is(0_i64)),
        (bson!({"$subtract": ["$date", 789]}), is(date("2024-02-29T12:34:56Z"))),
        (bson!({"$subtract": [1, "$null"]}), NULL),
        (bson!({"$subtract": [1, "$date"]}), fails(14, "can't $subtract date from int")),
        (bson!({"$subtract": ["x", 1]}), fails(14, "can't $subtract int from string")),
        (bson!({"$multiply": [3, 4]}), is(12)),
        (bson!({"$multiply": []}), is(1)),
        (bson!({"$multiply": [i32::MAX, 2]}), is(4_294_967_294_i64)),
        (bson!({"$multiply": [i64::MAX, 2]}), is(18_446_744_073_709_551_616.0)),
        (bson!({"$multiply": [2, "$null"]}), NULL),
        (
            bson!({"$multiply": [2, "x"]}),
            fails(14, "$multiply only supports numeric types, not string"),
        ),
    ]);
}

#[test]
fn quotients_and_remainders() {
    check(&[
        (bson!({"$divide": [6, 4]}), is(1.5)),
        (bson!({"$divide": [6, 3]}), is(2.0)),
        (
            bson!({"$divide": [decimal("1"), 3]}),
            is(decimal("0.3333333333333333333333333333333333")),
        ),
        (bson!({"$divide": [decimal("10"), 2]}), is(decimal("5"))),
        (bson!({"$divide": [decimal("1.00"), 2]}), is(decimal("0.50"))),
        (bson!({"$divide": [decimal("Infinity"), 2]}), is(decimal("Infinity"))),
        (bson!({"$divide": ["$missing", 2]}), NULL),
        (bson!({"$divide": [1, 0]}), fails(2, "can't $divide by zero")),
        (bson!({"$divide": [1, decimal("0.0")]}), fails(2, "can't $divide by zero")),
        (
            bson!({"$divide": ["x", 2]}),
            fails(14, "$divide only supports numeric types, not string and int"),
        ),
        (bson!({"$mod": [7, 3]}), is(1)),
        (bson!({"$mod": [-7, 3]}), is(-1)),
        (bson!({"$mod": [7, 3_i64]}), is(1_i64)),
        (bson!({"$mod": [7.5, 2]}), is(1.5)),
        (bson!({"$mod": [i64::MIN, -1]}), is(0_i64)),
        (bson!({"$mod": [i32::MIN, -1]}), is(0)),
        (bson!({"$mod": [decimal("7.5"), 2]}), is(decimal("1.5"))),
        (bson!({"$mod": [7, "$null"]}), NULL),
        (bson!({"$mod": [7, 0]}), fails(16_610, "can't $mod by zero")),
        (
            bson!({"$mod": ["x", 0]}),
            fails(16_611, "$mod only supports numeric types, not string and int"),
        ),
    ]);
}

#[test]
fn functions_of_one_number() {
    check(&[
        (bson!({"$abs": -5}), is(5)),
        (bson!({"$abs": [i32::MIN]}), is(2_147_483_648_i64)),
        (bson!({"$abs": [decimal("-1.50")]}), is(decimal("1.50"))),
        (bson!({"$abs": [i64::MIN]}), fails(28_680, "can't take $abs of long long min")),
        (bson!({"$abs": "$null"}), NULL),
        (bson!({"$abs": "$text"}), fails(28_765, "$abs only supports numeric types, not string")),
        (bson!({"$ceil": 1.2}), is(2.0)),
        (bson!({"$ceil": 5}), is(5)),
        (bson!({"$ceil": [decimal("-1.5")]}), is(decimal("-1"))),
        (bson!({"$floor": -1.2}), is(-2.0)),
        (bson!({"$floor": [decimal("1.5")]}), is(decimal("1"))),
        (bson!({"$floor": "$missing"}), NULL),
        (bson!({"$sqrt": 16}), is(4.0)),
        (bson!({"$sqrt": [decimal("2")]}), is(decimal("1.414213562373095048801688724209698"))),
        (
            bson!({"$sqrt": -1}),
            fails(28_714, "$sqrt's argument must be greater than or equal to 0"),
        ),
        (bson!({"$exp": 0}), is(1.0)),
        (bson!({"$exp": [decimal("1")]}), is(decimal("2.718281828459045235360287471352662"))),
        (bson!({"$exp": [decimal("1E+10")]}), is(decimal("Infinity"))),
        (
            bson!({"$exp": [decimal("-100")]}),
            is(decimal("3.720075976020835962959695803863118E-44")),
        ),
        (bson!({"$ln": 1}), is(0.0)),
        (bson!({"$ln": [decimal("10")]}), is(decimal("2.302585092994045684017991454684364"))),
        (bson!({"$ln": 0}), fails(28_766, "$ln's argument must be a positive number, but is 0")),
        (bson!({"$log10": 1000}), is(3.0)),
        (bson!({"$log10": [decimal("1E-5")]}), is(decimal("-5"))),
        (bson!({"$log10": [decimal("2")]}), is(decimal("0.3010299956639811952137388947244930"))),
        (
            bson!({"$log10": -1}),
            fails(28_761, "$log10's argument must be a positive number, but is -1"),
        ),
        (bson!({"$log": [8, 2]}), is(3.0)),
        (bson!({"$log": [decimal("8"), 2]}), is(decimal("3"))),
        (bson!({"$log": [8, "$null"]}), NULL),
        (bson!({"$log": ["x", 2]}), fails(28_756, "$log's argument must be numeric, not string")),
        (bson!({"$log": [8, "x"]}), fails(28_757, "$log's base must be numeric, not string")),
        (
            bson!({"$log": [0, 2]}),
            fails(28_758, "$log's argument must be a positive number, but is 0"),
        ),
        (
            bson!({"$log": [8, 1]}),
            fails(28_759, "$log's base must be a positive number not equal to 1, but is 1"),
        ),
    ]);
}

#[test]
fn powers() {
    check(&[
        (bson!({"$pow": [2, 10]}), is(1024)),
        (bson!({"$pow": [2, 31]}), is(2_147_483_648_i64)),
        (bson!({"$pow": [2_i64, 3]}), is(8_i64)),
        (bson!({"$pow": [2, 64]}), is(18_446_744_073_709_551_616.0)),
        (bson!({"$pow": [2, -1]}), is(0.5)),
        (bson!({"$pow": [-1, -3]}), is(-1)),
        (bson!({"$pow": [0, 0]}), is(1)),
        (bson!({"$pow": [4, 0.5]}), is(2.0)),
        (bson!({"$pow": [decimal("1.5"), 2]}), is(decimal("2.25"))),
        (bson!({"$pow": [decimal("2"), -2]}), is(decimal("0.25"))),
        (
            bson!({"$pow": [decimal("2"), decimal("0.5")]}),
            is(decimal("1.414213562373095048801688724209698")),
        ),
        (bson!({"$pow": [decimal("-8"), decimal("0.5")]}), is(decimal("NaN"))),
        (bson!({"$pow": [null, 2]}), NULL),
        (bson!({"$pow": ["x", 2]}), fails(28_762, "$pow's base must be numeric, not string")),
        (bson!({"$pow": [2, "x"]}), fails(28_763, "$pow's exponent must be numeric, not string")),
        (
            bson!({"$pow": [0, -1]}),
            fails(28_764, "$pow cannot take a base of 0 and a negative exponent"),
        ),
    ]);
}

#[test]
fn rounding_takes_halves_to_the_even_side() {
    check(&[
        (bson!({"$round": [2.5]}), is(2.0)),
        (bson!({"$round": [3.5, 0]}), is(4.0)),
        (bson!({"$round": [-2.5]}), is(-2.0)),
        (bson!({"$round": [1.25, 1]}), is(1.2)),
        (bson!({"$round": [2.345, 2]}), is(2.35)),
        (bson!({"$round": [1234, -2]}), is(1200)),
        (bson!({"$round": [1250, -2]}), is(1200)),
        (bson!({"$round": [1350_i64, -2]}), is(1400_i64)),
        (bson!({"$round": [i32::MAX, -1]}), is(2_147_483_650_i64)),
        (bson!({"$round": [decimal("1.255"), 2]}), is(decimal("1.26"))),
        (bson!({"$round": [decimal("1.5"), 3]}), is(decimal("1.500"))),
        (bson!({"$round": [f64::INFINITY, 1]}), is(f64::INFINITY)),
        (bson!({"$round": [7, 100]}), is(7)),
        (bson!({"$round": ["$null", 1]}), NULL),
        (bson!({"$round": [1, "$missing"]}), NULL),
        (bson!({"$trunc": [-1.7]}), is(-1.0)),
        (bson!({"$trunc": [1.29, 1]}), is(1.2)),
        (bson!({"$trunc": [1299, -2]}), is(1200)),
        (bson!({"$trunc": [decimal("-1.99"), 1]}), is(decimal("-1.9"))),
        (bson!({"$round": ["x"]}), fails(51_081, "$round only supports numeric types, not string")),
        (
            bson!({"$round": [1, 0.5]}),
            fails(51_082, "precision argument to  $round must be a integral value"),
        ),
        (
            bson!({"$trunc": [1, 101]}),
            fails(
                51_083,
                "cannot apply $trunc with precision value 101 value must be in [-20, 100]",
            ),
        ),
        (
            bson!({"$round": [i64::MAX, -1]}),
            fails(
                51_080,
                "invalid conversion from Decimal128 result in $round resulting from arguments: \
                 [9223372036854775807, -1]",
            ),
        ),
    ]);
}

#[test]
fn angles() {
    use std::f64::consts::{FRAC_PI_2, PI};
    check(&[
        (bson!({"$sin": 0}), is(0.0)),
        (bson!({"$sin": [decimal("1")]}), is(decimal("0.8414709848078965066525023216302990"))),
        (bson!({"$cos": [decimal("1")]}), is(decimal("0.5403023058681397174009366074429766"))),
        (bson!({"$tan": [decimal("1")]}), is(decimal("1.557407724654902230506974807458360"))),
        (bson!({"$sin": [decimal("1E-30")]}), is(decimal("1E-30"))),
        (bson!({"$cos": "$null"}), NULL),
        (bson!({"$acos": [decimal("-1")]}), is(decimal("3.141592653589793238462643383279503"))),
        (bson!({"$asin": [decimal("0.5")]}), is(decimal("0.5235987755982988730771072305465838"))),
        (bson!({"$atan": [decimal("1")]}), is(decimal("0.7853981633974483096156608458198757"))),
        (bson!({"$asin": 1}), is(FRAC_PI_2)),
        (bson!({"$atan2": [0, -1]}), is(PI)),
        (
            bson!({"$atan2": [decimal("-1"), decimal("-1")]}),
            is(decimal("-2.356194490192344928846982537459627")),
        ),
        (bson!({"$atan2": [decimal("1"), 0]}), is(decimal("1.570796326794896619231321691639751"))),
        (bson!({"$atan2": [1, "$null"]}), NULL),
        (
            bson!({"$atan2": ["x", 1]}),
            fails(51_044, "$atan2 only supports numeric types, not string and int"),
        ),
        (bson!({"$sinh": [decimal("1")]}), is(decimal("1.175201193643801456882381850595601"))),
        (bson!({"$cosh": [decimal("0")]}), is(decimal("1"))),
        (bson!({"$tanh": [decimal("1")]}), is(decimal("0.7615941559557648881194582826047936"))),
        (bson!({"$asinh": [decimal("1")]}), is(decimal("0.8813735870195430252326093249797923"))),
        (bson!({"$acosh": [decimal("2")]}), is(decimal("1.316957896924816708625046347307968"))),
        (bson!({"$atanh": [decimal("0.5")]}), is(decimal("0.5493061443340548456976226184612629"))),
        (bson!({"$atanh": 1}), is(f64::INFINITY)),
        (bson!({"$degreesToRadians": 180}), is(PI)),
        (
            bson!({"$degreesToRadians": [decimal("180")]}),
            is(decimal("3.141592653589793238462643383279503")),
        ),
        (bson!({"$radiansToDegrees": PI}), is(180.0)),
        (bson!({"$acos": 2}), fails(50_989, "cannot apply $acos to 2, value must be in [-1,1]")),
        (bson!({"$acosh": 0}), fails(50_989, "cannot apply $acosh to 0, value must be in [1,inf]")),
        (
            bson!({"$sin": [f64::INFINITY]}),
            fails(50_989, "cannot apply $sin to inf, value must be in (-inf,inf)"),
        ),
        (bson!({"$tan": "x"}), fails(28_765, "$tan only supports numeric types, not string")),
    ]);
}

#[test]
fn bits() {
    check(&[
        (bson!({"$bitAnd": [12, 10]}), is(8)),
        (bson!({"$bitAnd": []}), is(-1)),
        (bson!({"$bitOr": [12, 10_i64]}), is(14_i64)),
        (bson!({"$bitXor": [12, 10]}), is(6)),
        (bson!({"$bitXor": [12, null]}), NULL),
        (bson!({"$bitNot": 5}), is(-6)),
        (bson!({"$bitNot": [5_i64]}), is(-6_i64)),
        (bson!({"$bitAnd": [1, 2.0]}), fails(14, "$bitAnd only supports int and long operands.")),
        (
            bson!({"$bitNot": 2.5}),
            fails(28_765, "$bitNot only supports int and long, not: double."),
        ),
    ]);
}

#[test]
fn accumulators_take_arrays_and_lists() {
    check(&[
        (bson!({"$sum": "$list"}), is(6)),
        (bson!({"$sum": ["$list", 1, "x", 2]}), is(3)),
        (bson!({"$sum": []}), is(0)),
        (bson!({"$sum": [0.1, 0.2, 0.3]}), is(0.6)),
        (bson!({"$sum": [i32::MAX, 1]}), is(2_147_483_648_i64)),
        (bson!({"$sum": [i64::MAX, 1]}), is(9_223_372_036_854_775_808.0)),
        (bson!({"$sum": ["$decimal", 1, 0.5]}), is(decimal("3.000000000000000"))),
        (bson!({"$avg": "$list"}), is(2.0)),
        (bson!({"$avg": ["x", "$null"]}), NULL),
        (bson!({"$avg": [decimal("1"), 2]}), is(decimal("1.5"))),
        (bson!({"$min": [3, 1, null, "$missing"]}), is(1)),
        (bson!({"$max": [3, "a", 5]}), is("a")),
        (bson!({"$max": "$list"}), is(3)),
        (bson!({"$max": "$empty"}), NULL),
        (bson!({"$stdDevPop": [2, 4, 4, 4, 5, 5, 7, 9]}), is(2.0)),
        (bson!({"$stdDevSamp": [1, 3]}), is(2.0_f64.sqrt())),
        (bson!({"$stdDevSamp": [1]}), NULL),
        (bson!({"$stdDevPop": "$empty"}), NULL),
    ]);
}
