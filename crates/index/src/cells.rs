//! The spatial index: the plane, or the Earth by longitude and latitude, recursively divided into
//! quarters. A cell is a number: the choices of quarters first, two bits each, then a one, then
//! zeros. So the cells inside a cell are one range of numbers around its own, and shortening the
//! number yields the cells that contain it. A geometry is stored under a few cells that cover it, a
//! point under one of the smallest. A query looks for the cells that cover its box, for those
//! inside them, and for those that contain them.

use value::Value;

use crate::geometry::{self, Shape};

/// Divisions from the whole down to the smallest cell, which on Earth is less than four centimetres
/// wide.
const LEVEL_MAX: u32 = 30;
/// Geometries are stored under cells of every second level, so a query has fewer containing cells
/// to look up.
const LEVEL_STEP: u32 = 2;
/// The most cells in a covering.
const CELLS_MAX: u64 = 16;
/// The cell that contains everything.
const ROOT: u64 = 1 << (2 * LEVEL_MAX);

/// Least and greatest longitude and latitude.
const EARTH: [f64; 4] = [-180.0, -90.0, 180.0, 90.0];

/// An area divided into cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Least x and y, greatest x and y. Anything outside counts as on the border.
    bounds: [f64; 4],
    is_planar: bool,
}

impl Grid {
    /// Creates the grid of a bounded plane, or of the Earth.
    pub fn new(bounds: Option<[f64; 4]>) -> Grid {
        Grid { bounds: bounds.unwrap_or(EARTH), is_planar: bounds.is_some() }
    }

    /// The cells that cover a GeoJSON geometry, at most 16; none if the value is not a geometry.
    pub fn cover(&self, geometry: &Value) -> Vec<u64> {
        match geometry::shape(geometry, self.is_planar) {
            None => Vec::new(),
            Some(Shape::Everything) => vec![ROOT],
            Some(Shape::Within(bounds)) => {
                let area = self.area(&bounds);
                area.cells(area.level(LEVEL_STEP))
            }
        }
    }

    /// The ranges of cells (end excluded) to scan for a box (least x and y, greatest x and y):
    /// every geometry that shares a point with the box has a cell in one of them. Sorted and
    /// disjoint.
    ///
    /// On Earth a box may cross the 180th meridian: with a longitude beyond it, or with the
    /// greatest less than the least. A box with a NaN coordinate is everything.
    pub fn ranges(&self, bounds: &[f64; 4]) -> Vec<(u64, u64)> {
        if bounds.iter().any(|coordinate| coordinate.is_nan()) {
            return vec![(ROOT - half_of(0) + 1, ROOT + half_of(0))];
        }
        let mut ranges = Vec::new();
        for bounds in self.boxes(bounds) {
            let area = self.area(&bounds);
            let level = area.level(1);
            let half = half_of(level);
            ranges.extend(area.cells(level).iter().map(|cell| (cell - half + 1, cell + half)));
            for around in (0..level).step_by(LEVEL_STEP as usize) {
                ranges.extend(area.cells(around).iter().map(|cell| (*cell, cell + 1)));
            }
        }
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (low, high) in ranges {
            match merged.last_mut() {
                // The number between two neighbours is a cell that contains both.
                Some(last) if low <= last.1 + 1 => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        merged
    }

    /// Splits the box so that no part crosses the 180th meridian.
    fn boxes(&self, &[west, south, east, north]: &[f64; 4]) -> Vec<[f64; 4]> {
        if self.is_planar {
            return vec![[west, south, east, north]];
        }
        let [least_west, least_south, most_east, most_north] = EARTH;
        // All meridians meet at the poles.
        let has_pole = south <= least_south || north >= most_north;
        if has_pole || east - west >= 360.0 {
            return vec![[least_west, south, most_east, north]];
        }
        let turn = |longitude: f64| (longitude - least_west).rem_euclid(360.0) + least_west;
        let is_inside = west >= least_west && east <= most_east;
        let (west, east) = if is_inside { (west, east) } else { (turn(west), turn(east)) };
        let mut boxes = if west <= east {
            vec![[west, south, east, north]]
        } else {
            vec![[west, south, most_east, north], [least_west, south, east, north]]
        };
        // The 180th meridian has two longitudes.
        if west <= least_west {
            boxes.push([most_east, south, most_east, north]);
        }
        if east >= most_east {
            boxes.push([least_west, south, least_west, north]);
        }
        boxes
    }

    fn area(&self, &[west, south, east, north]: &[f64; 4]) -> Area {
        let [least_x, least_y, most_x, most_y] = self.bounds;
        Area {
            x: [position(west, least_x, most_x), position(east, least_x, most_x)],
            y: [position(south, least_y, most_y), position(north, least_y, most_y)],
        }
    }
}

/// A box of smallest cells: first and last column, first and last row.
struct Area {
    x: [u64; 2],
    y: [u64; 2],
}

impl Area {
    /// The first and last column and row of this level's cells that the area touches.
    fn at(&self, level: u32) -> ([u64; 2], [u64; 2]) {
        let shift = LEVEL_MAX - level;
        (self.x.map(|x| x >> shift), self.y.map(|y| y >> shift))
    }

    /// The finest level, among every `step`th, at which few enough cells cover the area.
    fn level(&self, step: u32) -> u32 {
        let is_fine = |level: &u32| {
            let (x, y) = self.at(*level);
            let count = |[first, last]: [u64; 2]| last.saturating_sub(first) + 1;
            count(x) * count(y) <= CELLS_MAX
        };
        (0..=LEVEL_MAX).rev().step_by(step as usize).find(is_fine).unwrap_or(0)
    }

    /// The cells of this level that the area touches.
    fn cells(&self, level: u32) -> Vec<u64> {
        let (x, y) = self.at(level);
        let half = half_of(level);
        let cell = |x: u64, y: u64| (spread(x) << 1 | spread(y)) * 2 * half + half;
        (x[0]..=x[1]).flat_map(|x| (y[0]..=y[1]).map(move |y| cell(x, y))).collect()
    }
}

/// Half the count of numbers within a cell of this level, which is also the cell's lowest one bit.
fn half_of(level: u32) -> u64 {
    1 << (2 * (LEVEL_MAX - level))
}

/// The column or row of a coordinate. Monotonic in the coordinate.
fn position(coordinate: f64, least: f64, most: f64) -> u64 {
    const CELLS: u64 = 1 << LEVEL_MAX;
    let share = (coordinate - least) / (most - least);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "what is outside lands on the border"
    )]
    let position = (share * CELLS as f64) as u64;
    position.min(CELLS - 1)
}

/// Spreads the bits of a number, with a zero before each.
fn spread(number: u64) -> u64 {
    let mut bits = number & 0xffff_ffff;
    for (shift, mask) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

#[cfg(test)]
mod tests;
