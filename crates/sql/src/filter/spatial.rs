//! Where a geometry must lie to be near, within or across a constant one: boxes, always large
//! enough.

use value::Value;

use super::scope::{Analysis, Reference, function_key};
use super::{Filter, IndexUse, Test, TestKind, simplify};
use crate::ast::{Call, Expr, ExprKind};
use crate::functions::spatial::{self, Bounds};

/// `ST_DISTANCE(path, constant) <= limit`, if `operand` is such a call and `is_bound` tells that it
/// is compared that way.
pub(super) fn distance(
    analysis: &Analysis<'_>,
    expr: &Expr,
    operand: &Expr,
    limit: &Value,
    is_bound: bool,
) -> Option<Filter> {
    let ExprKind::Call(call) = &operand.kind else { return None };
    if !is_bound || call.is_udf || function_key(&call.name.text) != "STDISTANCE" {
        return None;
    }
    let (reference, geometry) = arguments(analysis, call)?;
    // Compared with a non-number, a distance is neither less nor more.
    let limit = limit.as_f64().unwrap_or(f64::NAN);
    if limit.is_nan() || limit < 0.0 {
        return Some(Filter::Nothing);
    }
    filter(analysis, expr, reference, &geometry, limit)
}

/// `ST_WITHIN` and `ST_INTERSECTS` of a path and a constant, in any order: the boxes must meet.
pub(super) fn touching(analysis: &Analysis<'_>, expr: &Expr, call: &Call) -> Option<Filter> {
    let (reference, geometry) = arguments(analysis, call)?;
    filter(analysis, expr, reference, &geometry, 0.0)
}

/// Whether the box around a geometry meets one of the boxes.
pub(super) fn meets(geometry: &Value, boxes: &[Bounds]) -> bool {
    let meets = |bounds: Option<Bounds>| {
        bounds.is_some_and(|[west, south, east, north]| {
            boxes
                .iter()
                .any(|of| west <= of[2] && of[0] <= east && south <= of[3] && of[1] <= north)
        })
    };
    meets(spatial::bounds(geometry)) || meets(spatial::planar_bounds(geometry))
}

fn arguments(analysis: &Analysis<'_>, call: &Call) -> Option<(Reference, Value)> {
    let [a, b] = call.args.as_slice() else { return None };
    let pair = |a, b| Some((analysis.reference(a)?, analysis.constant(b)?));
    pair(a, b).or_else(|| pair(b, a))
}

fn filter(
    analysis: &Analysis<'_>,
    expr: &Expr,
    reference: Reference,
    geometry: &Value,
    limit: f64,
) -> Option<Filter> {
    let bounds = if analysis.settings.is_planar {
        spatial::planar_bounds_within(geometry, limit)
    } else {
        spatial::bounds_within(geometry, limit)
    };
    Some(simplify::test(Test {
        path: reference.path,
        kind: TestKind::Spatial { boxes: vec![bounds?] },
        is_exact: false,
        text: analysis.text(expr, true),
        use_: IndexUse::Precise,
    }))
}
