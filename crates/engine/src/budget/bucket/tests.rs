//! Callers on a virtual clock: what they get of the throughput, and whether waiting as told helps.

use super::*;

/// How a caller takes a refusal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Waits as told and repeats the request.
    Obeys,
    /// Repeats the request after so many seconds, whatever it was told.
    Hurries(f64),
    /// Never repeats a request, and sends another one after so many seconds.
    MovesOn(f64),
}

#[derive(Clone, Debug)]
enum Next {
    Send,
    /// What it paid in advance, and what it costs.
    Done(f64, f64),
}

struct Client {
    manner: Manner,
    next: Next,
    at_s: f64,
    request: u64,
    /// Whether the request that it sends next was refused once.
    is_first_retry: bool,
    is_retry: bool,
    served: f64,
}

struct World {
    bucket: Bucket,
    clients: Vec<Client>,
    cost: f64,
    /// How much more every hundredth request costs, on the average.
    outliers: f64,
    /// Whether all clients ask for the same.
    is_one_request: bool,
    has_connections: bool,
    seed: u64,
    requests: u64,
    /// When something was served, and how much.
    served: Vec<(f64, f64)>,
    first_retries: u32,
    first_retries_served: u32,
    /// Of those who obey, after the first ten seconds.
    longest_wait_s: f64,
}

impl World {
    fn new(rate: f64, cost: f64, manners: &[Manner]) -> Self {
        let client = |manner: &Manner| Client {
            manner: *manner,
            next: Next::Send,
            at_s: 0.0,
            request: 0,
            is_first_retry: false,
            is_retry: false,
            served: 0.0,
        };
        let mut world = Self {
            bucket: Bucket::new(rate, 0.0),
            clients: manners.iter().map(client).collect(),
            cost,
            outliers: 1.0,
            is_one_request: false,
            has_connections: true,
            seed: 1,
            requests: 0,
            served: Vec::new(),
            first_retries: 0,
            first_retries_served: 0,
            longest_wait_s: 0.0,
        };
        for at in 0..world.clients.len() {
            world.clients[at].at_s = 0.01 * world.random();
            world.another(at);
        }
        world
    }

    fn random(&mut self) -> f64 {
        // A linear congruential generator: the same run every time.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        (self.seed >> 33) as f64 / f64::from(1_u32 << 31)
    }

    fn another(&mut self, at: usize) {
        self.requests += 1;
        let client = &mut self.clients[at];
        client.request = if self.is_one_request { 7 } else { self.requests };
        client.is_first_retry = false;
        client.is_retry = false;
    }

    fn run(&mut self, until_s: f64) {
        loop {
            let times = self.clients.iter().enumerate().map(|(at, client)| (at, client.at_s));
            let (at, now_s) =
                times.min_by(|one, other| one.1.total_cmp(&other.1)).expect("a client");
            if now_s > until_s {
                return;
            }
            match self.clients[at].next.clone() {
                Next::Send => self.send(at, now_s),
                Next::Done(paid, charge) => {
                    self.bucket.settle(Kind::Create, paid, charge);
                    self.served.push((now_s, charge));
                    self.clients[at].served += charge;
                    self.clients[at].next = Next::Send;
                    self.another(at);
                }
            }
        }
    }

    fn send(&mut self, at: usize, now_s: f64) {
        let request = self.clients[at].request;
        let connection = self.has_connections.then_some(at as u64);
        let caller = Caller { kind: Kind::Create, connection, fingerprint: &|| request };
        let answer = self.bucket.admit(&caller, now_s);
        let (late, mut spread) = (0.003 * self.random(), 0.5 + self.random());
        if self.random() < 0.01 {
            spread *= self.outliers;
        }
        let client = &mut self.clients[at];
        let is_obedient = client.manner == Manner::Obeys;
        if client.is_first_retry && is_obedient {
            self.first_retries += 1;
            self.first_retries_served += u32::from(answer.is_ok());
        }
        match answer {
            Ok(paid) => {
                // The work takes some milliseconds, in which others come and go.
                client.at_s = now_s + 0.002 + late;
                client.next = Next::Done(paid, self.cost * spread);
            }
            Err(WaitSeconds(wait_s)) => {
                assert!(wait_s >= 0.0 && wait_s.is_finite());
                client.is_first_retry = !client.is_retry;
                client.is_retry = true;
                // As on the wire: in whole milliseconds, rounded up.
                let wait_s = (wait_s * 1000.0).ceil().max(1.0) / 1000.0;
                match client.manner {
                    Manner::Obeys => {
                        if now_s > 10.0 {
                            self.longest_wait_s = self.longest_wait_s.max(wait_s);
                        }
                        client.at_s = now_s + wait_s + late;
                    }
                    Manner::Hurries(pause_s) => client.at_s = now_s + pause_s,
                    Manner::MovesOn(pause_s) => {
                        client.at_s = now_s + pause_s;
                        self.another(at);
                    }
                }
            }
        }
    }

    /// Request units per second in each window of ten seconds after the first one.
    fn windows(&self, until_s: u32) -> Vec<f64> {
        let window = |begin: u32| {
            let (begin, end) = (f64::from(begin), f64::from(begin) + 10.0);
            let within = self.served.iter().filter(|(at_s, _)| (begin..end).contains(at_s));
            within.map(|(_, charge)| charge).sum::<f64>() / 10.0
        };
        (1..=until_s - 10).map(window).collect()
    }

    fn honesty(&self) -> f64 {
        assert!(self.first_retries > 100, "hardly anyone had to wait");
        f64::from(self.first_retries_served) / f64::from(self.first_retries)
    }

    fn assert_serves(&self, rate: f64, until_s: u32) {
        for window in self.windows(until_s) {
            assert!((window / rate - 1.0).abs() <= 0.05, "{window} of {rate}");
        }
    }
}

#[test]
fn sixteen_obedient_callers_get_what_is_reserved_and_succeed_when_they_come_back() {
    for (rate, cost) in [(400.0, 1.0), (400.0, 5.0), (10_000.0, 50.0), (400.0, 40.0)] {
        let mut world = World::new(rate, cost, &[Manner::Obeys; 16]);
        world.run(31.0);
        world.assert_serves(rate, 31);
        assert!(world.honesty() >= 0.9, "{} at {rate}", world.honesty());
        let served = world.clients.iter().map(|client| client.served);
        let (least, most) = served.fold((f64::MAX, 0.0_f64), |(least, most), served| {
            (least.min(served), most.max(served))
        });
        assert!(most / least < 1.5, "{least} and {most} at {rate}");
    }
}

#[test]
fn callers_who_ask_for_the_same_document_do_not_take_each_others_turns() {
    let mut world = World::new(400.0, 1.0, &[Manner::Obeys; 16]);
    world.is_one_request = true;
    world.run(31.0);
    world.assert_serves(400.0, 31);
    assert!(world.honesty() >= 0.9, "{}", world.honesty());
    // Where nothing tells them apart, a newcomer may be taken for one who comes back.
    let mut world = World::new(400.0, 1.0, &[Manner::Obeys; 16]);
    world.is_one_request = true;
    world.has_connections = false;
    world.run(31.0);
    world.assert_serves(400.0, 31);
    assert!(world.honesty() >= 0.4, "{}", world.honesty());
}

#[test]
fn a_few_dear_requests_among_many_cheap_ones_do_not_keep_it_idle() {
    let mut world = World::new(1000.0, 2.0, &[Manner::Obeys; 16]);
    world.outliers = 300.0;
    world.run(121.0);
    let served = world.served.iter().filter(|(at_s, _)| *at_s >= 1.0).map(|(_, charge)| charge);
    let rate = served.sum::<f64>() / 120.0;
    assert!((rate / 1000.0 - 1.0).abs() <= 0.05, "{rate}");
    assert!(world.honesty() >= 0.9, "{}", world.honesty());
}

#[test]
fn callers_in_a_hurry_gain_little() {
    let mut manners = vec![Manner::Obeys; 12];
    manners.extend([Manner::Hurries(0.001); 4]);
    let mut world = World::new(400.0, 5.0, &manners);
    world.run(31.0);
    world.assert_serves(400.0, 31);
    assert!(world.honesty() >= 0.9, "{}", world.honesty());
    let obedient = world.clients[..12].iter().map(|client| client.served).sum::<f64>() / 12.0;
    let hurried = world.clients[12..].iter().map(|client| client.served).sum::<f64>() / 4.0;
    assert!(obedient > hurried / 1.5, "{obedient} and {hurried}");
}

#[test]
fn callers_who_never_come_back_keep_nobody_waiting() {
    let mut manners = vec![Manner::Obeys; 8];
    // A thousand new requests a second, where eighty can be served.
    manners.extend([Manner::MovesOn(0.016); 16]);
    let mut world = World::new(400.0, 5.0, &manners);
    world.run(61.0);
    for window in world.windows(61).iter().skip(10) {
        assert!((window / 400.0 - 1.0).abs() <= 0.05, "{window}");
    }
    assert!(world.honesty() >= 0.9, "{}", world.honesty());
    assert!(world.longest_wait_s < 3.0, "{}", world.longest_wait_s);
    for client in &world.clients[..8] {
        assert!(client.served > 61.0 * 400.0 / 24.0 / 4.0, "{}", client.served);
    }
}

#[test]
fn a_large_request_borrows_and_the_next_waits_for_its_debt() {
    let mut bucket = Bucket::new(400.0, 0.0);
    let caller = |request: &'static u64| Caller {
        kind: Kind::Query,
        connection: Some(*request),
        fingerprint: &|| 0,
    };
    let paid = bucket.admit(&caller(&1), 0.0).expect("a full bucket lets anyone in");
    bucket.settle(Kind::Query, paid, 2400.0);
    let WaitSeconds(wait_s) = bucket.admit(&caller(&2), 0.0).expect_err("2,000 are owed");
    assert!((wait_s - 5.0).abs() < 1e-9);
    bucket.admit(&caller(&2), 4.9).expect_err("not yet");
    bucket.admit(&caller(&2), 5.001).expect("as promised");
}

#[test]
fn an_idle_bucket_saves_one_second_and_no_more() {
    let mut bucket = Bucket::new(400.0, 0.0);
    let fingerprint = || 1;
    let caller = Caller { kind: Kind::Read, connection: None, fingerprint: &fingerprint };
    for request in 0..400 {
        let paid = bucket.admit(&caller, 3600.0);
        bucket.settle(Kind::Read, paid.unwrap_or_else(|_| panic!("{request}")), 1.0);
    }
    bucket.admit(&caller, 3600.0).expect_err("an hour's rest is worth a second");
}

#[test]
fn what_is_given_back_costs_nothing() {
    let mut bucket = Bucket::new(10.0, 0.0);
    let fingerprint = || 1;
    let caller = Caller { kind: Kind::Read, connection: None, fingerprint: &fingerprint };
    for _ in 0..1000 {
        let paid = bucket.admit(&caller, 0.0).expect("nothing was spent");
        bucket.give_back(paid);
        // A request that failed before it did anything has no charge either.
        let paid = bucket.admit(&caller, 0.0).expect("nothing was spent");
        bucket.settle(Kind::Read, paid, 0.0);
    }
}

#[test]
fn turns_are_bounded() {
    let mut bucket = Bucket::new(400.0, 0.0);
    let never = || 0;
    let caller = Caller { kind: Kind::Read, connection: None, fingerprint: &never };
    let paid = bucket.admit(&caller, 0.0).expect("a full bucket");
    bucket.settle(Kind::Read, paid, 1000.0);
    for request in 0..5000 {
        let fingerprint = || request;
        let caller = Caller { kind: Kind::Read, connection: None, fingerprint: &fingerprint };
        bucket.admit(&caller, 0.0).expect_err("in debt");
    }
    assert_eq!(bucket.turns.len(), TURNS_MAX);
}

#[test]
fn a_new_rate_counts_from_now_on() {
    let mut bucket = Bucket::new(400.0, 0.0);
    let fingerprint = || 1;
    let caller = Caller { kind: Kind::Read, connection: Some(1), fingerprint: &fingerprint };
    let paid = bucket.admit(&caller, 0.0).expect("a full bucket");
    bucket.settle(Kind::Read, paid, 4400.0);
    bucket.set_rate(4000.0, 1.0);
    let other = || 2;
    let caller = Caller { kind: Kind::Read, connection: Some(2), fingerprint: &other };
    let WaitSeconds(wait_s) = bucket.admit(&caller, 1.0).expect_err("3,600 are still owed");
    assert!((wait_s - 0.9).abs() < 1e-9, "{wait_s}");
}
