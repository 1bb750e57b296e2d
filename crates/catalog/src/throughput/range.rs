//! The range of throughput that may be reserved, and the service's error texts for anything else.

use protocol::{Error, limits::PARTITION_THROUGHPUT_MAX};

use crate::limits::Limits;

/// What the throughput is reserved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A database, for all its collections together.
    Database,
    /// A collection.
    Collection {
        /// Whether it has a partition key.
        is_partitioned: bool,
    },
}

/// Whether the rate is fixed, or a maximum for autoscale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A fixed rate.
    Manual,
    /// A maximum, below which the rate follows the load.
    Autoscale,
}

/// The operator's limits for all throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The era whose limits apply.
    pub limits: Limits,
    /// The most that anything may have.
    pub most: u32,
}

impl From<Limits> for Rules {
    fn from(limits: Limits) -> Self {
        Self { limits, most: limits.throughput_max() }
    }
}

/// The rates that may be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lowest rate.
    pub least: u32,
    /// The highest rate.
    pub most: u32,
    /// Rates are multiples of this.
    pub step: u32,
    /// Why the lowest rate is above that of new resources.
    pub reason: Option<String>,
}

impl Mode {
    /// Rates are multiples of this.
    pub fn step(self) -> u32 {
        match self {
            Self::Manual => 100,
            Self::Autoscale => 1000,
        }
    }

    /// The lowest rate of any resource.
    pub fn least(self) -> u32 {
        match self {
            Self::Manual => 400,
            Self::Autoscale => 1000,
        }
    }
}

impl Range {
    /// The rates that a new resource may have.
    pub fn new(rules: Rules, kind: Kind, mode: Mode) -> Self {
        let partitioned_least = match rules.limits {
            Limits::Current => mode.least(),
            // More than one partition can give: the collections of that year had at least two.
            Limits::Y2016 => 10_100,
            Limits::Y2017 => 2_500,
        };
        let (least, most) = match kind {
            Kind::Collection { is_partitioned: true } => (partitioned_least, rules.most),
            Kind::Collection { is_partitioned: false } => {
                (mode.least(), rules.most.min(PARTITION_THROUGHPUT_MAX))
            }
            Kind::Database => (mode.least(), rules.most),
        };
        let step = mode.step();
        let least = least.next_multiple_of(step);
        // The lowest rate is always allowed, whatever the operator configures.
        Self { least, most: (most - most % step).max(least), step, reason: None }
    }

    /// Raises the lowest rate, and records why.
    pub fn at_least(&mut self, rate: u64, reason: impl FnOnce() -> String) {
        // The lowest rate must not exceed the highest.
        let rate = u32::try_from(rate).unwrap_or(u32::MAX).min(self.most);
        let rate = rate.next_multiple_of(self.step).min(self.most);
        if rate > self.least {
            self.least = rate;
            self.reason = Some(reason());
        }
    }

    /// Returns the rate if it may be requested.
    pub fn check(&self, rate: i64) -> Result<u32, Error> {
        u32::try_from(rate)
            .ok()
            .filter(|rate| (self.least..=self.most).contains(rate))
            .filter(|rate| rate.is_multiple_of(self.step))
            .ok_or_else(|| self.refusal(rate))
    }

    /// Fails if the rate is too low; checks nothing else.
    pub fn check_least(&self, rate: u32) -> Result<(), Error> {
        if rate < self.least { Err(self.refusal(i64::from(rate))) } else { Ok(()) }
    }

    /// The nearest rate that may be requested and is no lower, if there is one.
    pub fn nearest(&self, rate: u32) -> u32 {
        rate.min(self.most).next_multiple_of(self.step).clamp(self.least, self.most)
    }

    /// COMPAT: tools parse the bounds from the first sentence, SDK tests look for the second.
    fn refusal(&self, rate: i64) -> Error {
        let Self { least, most, step, reason } = self;
        let mut sentences = vec![format!(
            "The offer should have valid throughput values between {least} and {most} inclusive in \
             increments of {step}."
        )];
        if rate < i64::from(*least) {
            sentences.push(format!(
                "Requested throughput {rate} is less than required minimum throughput {least}."
            ));
            let reason = reason.iter();
            sentences.extend(reason.map(|it| format!("Minimum limit {least} is because of {it}.")));
        }
        Error::bad_request(sentences.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITIONED: Kind = Kind::Collection { is_partitioned: true };
    const SINGLE: Kind = Kind::Collection { is_partitioned: false };

    fn bounds(limits: impl Into<Rules>, kind: Kind, mode: Mode) -> [u32; 3] {
        let Range { least, most, step, .. } = Range::new(limits.into(), kind, mode);
        [least, most, step]
    }

    #[test]
    fn every_year_has_its_bounds() {
        let manual = |limits, kind| bounds(limits, kind, Mode::Manual);
        assert_eq!(manual(Limits::Current, PARTITIONED), [400, 1_000_000, 100]);
        assert_eq!(manual(Limits::Y2016, PARTITIONED), [10_100, 250_000, 100]);
        assert_eq!(manual(Limits::Y2017, PARTITIONED), [2_500, 1_000_000, 100]);
        for limits in [Limits::Current, Limits::Y2016, Limits::Y2017] {
            assert_eq!(manual(limits, SINGLE), [400, 10_000, 100]);
            assert_eq!(bounds(limits, SINGLE, Mode::Autoscale), [1_000, 10_000, 1_000]);
        }
        assert_eq!(manual(Limits::Y2016, Kind::Database), [400, 250_000, 100]);
        let autoscale = |limits| bounds(limits, PARTITIONED, Mode::Autoscale);
        assert_eq!(autoscale(Limits::Current), [1_000, 1_000_000, 1_000]);
        assert_eq!(autoscale(Limits::Y2016), [11_000, 250_000, 1_000]);
        assert_eq!(autoscale(Limits::Y2017), [3_000, 1_000_000, 1_000]);
    }

    #[test]
    fn rates_below_above_and_between_steps_are_refused() {
        let range = Range::new(Limits::Current.into(), PARTITIONED, Mode::Manual);
        assert_eq!(range.check(400).ok(), Some(400));
        assert_eq!(range.check(1_000_000).ok(), Some(1_000_000));
        for bad in [i64::MIN, -200, 0, 399, 450, 1_000_100, i64::from(u32::MAX) + 401, i64::MAX] {
            assert!(range.check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_refusal_names_the_bounds_and_what_raised_them() {
        let mut range = Range::new(Limits::Current.into(), Kind::Database, Mode::Manual);
        let text = |range: &Range, rate| range.check(rate).expect_err("refused").message;
        assert_eq!(
            text(&range, 450),
            "The offer should have valid throughput values between 400 and 1000000 inclusive in \
             increments of 100."
        );
        range.at_least(450, || "Highest RUs provisioned 45000".to_owned());
        assert_eq!(
            text(&range, 400),
            "The offer should have valid throughput values between 500 and 1000000 inclusive in \
             increments of 100. Requested throughput 400 is less than required minimum throughput \
             500. Minimum limit 500 is because of Highest RUs provisioned 45000."
        );
        // A lower demand keeps the reason.
        range.at_least(500, || "nothing".to_owned());
        assert!(text(&range, 400).contains("45000"));
    }

    #[test]
    fn no_minimum_is_above_the_maximum() {
        let mut range = Range::new(Limits::Y2016.into(), SINGLE, Mode::Autoscale);
        range.at_least(u64::MAX, || "storage".to_owned());
        assert_eq!((range.least, range.check(10_000).ok()), (10_000, Some(10_000)));
    }

    #[test]
    fn the_nearest_rate_is_no_lower() {
        let range = Range::new(Limits::Current.into(), SINGLE, Mode::Autoscale);
        assert_eq!(
            [400, 1_000, 1_100, 10_000].map(|rate| range.nearest(rate)),
            [1_000, 1_000, 2_000, 10_000]
        );
        assert_eq!(range.nearest(u32::MAX), 10_000);
    }

    #[test]
    fn the_operator_may_set_the_most() {
        let rules = |limits, most| Rules { limits, most };
        let set = |most| bounds(rules(Limits::Y2016, most), PARTITIONED, Mode::Manual);
        assert_eq!(set(2_000_000), [10_100, 2_000_000, 100]);
        assert_eq!(set(20_050), [10_100, 20_000, 100]);
        // There is always a rate that can be requested.
        assert_eq!(set(5_000), [10_100, 10_100, 100]);
        let current = rules(Limits::Current, 4_500);
        assert_eq!(bounds(current, SINGLE, Mode::Manual), [400, 4_500, 100]);
        assert_eq!(bounds(current, Kind::Database, Mode::Autoscale), [1_000, 4_000, 1_000]);
    }
}
