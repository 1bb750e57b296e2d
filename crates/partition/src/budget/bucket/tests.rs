//! Callers on a virtual clock: what they get of the throughput, and whether waiting as told helps.

use std::collections::BTreeSet;

use super::{turns::TURNS_MAX, *};

mod strangers;

/// How a caller reacts to a refusal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Waits as told and repeats the request.
    Obeys,
    /// Waits as told and sends a different request, for example with a new id.
    Renews,
    /// Repeats the request after this many seconds, whatever it was told.
    Hurries(f64),
    /// Never repeats a request, and sends another one after this many seconds.
    MovesOn(f64),
}

#[derive(Clone, Debug)]
enum Next {
    Send,
    /// The advance payment, and the cost.
    Done(f64, f64),
}

struct Client {
    manner: Manner,
    next: Next,
    at_s: f64,
    request: u64,
    /// Whether its next request has been refused once.
    is_first_retry: bool,
    is_retry: bool,
    tries: u32,
    waited_s: f64,
    served: f64,
}

struct World {
    bucket: Bucket,
    clients: Vec<Client>,
    cost: f64,
    /// How much requests differ in cost, as a part of the cost.
    spread: f64,
    /// How much more every hundredth request costs on average.
    outliers: f64,
    /// Whether all clients send the same request.
    is_one_request: bool,
    has_connections: bool,
    /// Whether all clients share their connections.
    is_pool: bool,
    /// Whether each client is done after one request.
    is_once: bool,
    /// How late clients come back at most.
    late_s: f64,
    seed: u64,
    requests: u64,
    /// When requests were served, and how much they cost.
    served: Vec<(f64, f64)>,
    first_retries: u32,
    first_retries_served: u32,
    /// The longest wait of an obedient client from `measures_from_s` on.
    longest_wait_s: f64,
    measures_from_s: f64,
    /// How often a client would have given up as SDKs do: after nine retries or thirty seconds.
    gave_up: u32,
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
            tries: 0,
            waited_s: 0.0,
            served: 0.0,
        };
        let mut world = Self {
            bucket: Bucket::new(rate, 0.0),
            clients: manners.iter().map(client).collect(),
            cost,
            spread: 1.0,
            outliers: 1.0,
            is_one_request: false,
            has_connections: true,
            is_pool: false,
            is_once: false,
            late_s: 0.003,
            seed: 1,
            requests: 0,
            served: Vec::new(),
            first_retries: 0,
            first_retries_served: 0,
            longest_wait_s: 0.0,
            measures_from_s: 10.0,
            gave_up: 0,
        };
        for at in 0..world.clients.len() {
            world.clients[at].at_s = 0.01 * world.random();
            world.another(at);
        }
        world
    }

    fn random(&mut self) -> f64 {
        // A linear congruential generator, so that every run is the same.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        (self.seed >> 33) as f64 / f64::from(1_u32 << 31)
    }

    fn another(&mut self, at: usize) {
        self.requests += 1;
        let client = &mut self.clients[at];
        client.request = if self.is_one_request { 7 } else { self.requests };
        client.is_first_retry = false;
        client.is_retry = false;
        (client.tries, client.waited_s) = (0, 0.0);
    }

    fn run(&mut self, until_s: f64) {
        // Times are not negative, so their bits sort in the same order.
        let times = self.clients.iter().enumerate();
        let mut agenda: BTreeSet<(u64, usize)> =
            times.map(|(at, client)| (client.at_s.to_bits(), at)).collect();
        while let Some((time, at)) = agenda.pop_first() {
            let now_s = f64::from_bits(time);
            if now_s > until_s {
                return;
            }
            match self.clients[at].next.clone() {
                Next::Send => self.send(at, now_s),
                Next::Done(paid, charge) => {
                    self.bucket.settle(Kind::Create, paid, charge, charge);
                    self.served.push((now_s, charge));
                    self.clients[at].served += charge;
                    self.clients[at].next = Next::Send;
                    if self.is_once {
                        self.clients[at].at_s = f64::INFINITY;
                    }
                    self.another(at);
                }
            }
            agenda.insert((self.clients[at].at_s.to_bits(), at));
        }
    }

    fn send(&mut self, at: usize, now_s: f64) {
        let request = self.clients[at].request;
        let mut connection = self.has_connections.then_some(at as u64);
        if self.is_pool {
            self.random();
            connection = Some((self.seed >> 33) % self.clients.len() as u64);
        }
        let caller = Caller { kind: Kind::Create, connection, fingerprint: &|| request };
        let answer = self.bucket.admit(&caller, now_s);
        let late = self.late_s * self.random();
        let mut spread = 1.0 + self.spread * (self.random() - 0.5);
        if self.random() < 0.01 {
            spread *= self.outliers;
        }
        self.requests += 1;
        let client = &mut self.clients[at];
        let is_obedient = matches!(client.manner, Manner::Obeys | Manner::Renews);
        if client.is_first_retry && is_obedient {
            self.first_retries += 1;
            self.first_retries_served += u32::from(answer.is_ok());
        }
        match answer {
            Ok(paid) => {
                // The work takes a few milliseconds, while others come and go.
                client.at_s = now_s + 0.002 + late;
                client.next = Next::Done(paid, self.cost * spread);
            }
            Err(WaitSeconds(wait_s)) => {
                assert!(wait_s >= 0.0 && wait_s.is_finite());
                client.is_first_retry = !client.is_retry;
                client.is_retry = true;
                // As on the wire: in whole milliseconds, rounded up.
                let wait_s = (wait_s * 1000.0).ceil().max(1.0) / 1000.0;
                client.tries += 1;
                client.waited_s += wait_s;
                if client.tries > 9 || client.waited_s > 30.0 {
                    self.gave_up += 1;
                    (client.tries, client.waited_s) = (0, 0.0);
                }
                match client.manner {
                    Manner::Obeys | Manner::Renews => {
                        if now_s > self.measures_from_s {
                            self.longest_wait_s = self.longest_wait_s.max(wait_s);
                        }
                        client.at_s = now_s + wait_s + late;
                        if client.manner == Manner::Renews {
                            client.request = self.requests;
                        }
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

    /// Request units per second in each window of ten seconds after the first.
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
    // If nothing distinguishes them, a newcomer may be taken for a caller that comes back.
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
    // They start when callers are known to come back. Turns promised before the bucket learns that
    // these do not are over some seconds later.
    world.measures_from_s = 20.0;
    for client in &mut world.clients[8..] {
        client.at_s += 3.0;
    }
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
    bucket.settle(Kind::Query, paid, 2400.0, 2400.0);
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
        bucket.settle(Kind::Read, paid.unwrap_or_else(|_| panic!("{request}")), 1.0, 1.0);
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
        bucket.give_back(Kind::Read, paid);
        // A request that failed before doing anything has no charge either.
        let paid = bucket.admit(&caller, 0.0).expect("nothing was spent");
        bucket.settle(Kind::Read, paid, 0.0, 0.0);
    }
}

#[test]
fn turns_are_bounded() {
    let mut bucket = Bucket::new(400.0, 0.0);
    let never = || 0;
    let caller = Caller { kind: Kind::Read, connection: None, fingerprint: &never };
    let paid = bucket.admit(&caller, 0.0).expect("a full bucket");
    bucket.settle(Kind::Read, paid, 1000.0, 1000.0);
    for request in 0..TURNS_MAX as u64 + 1000 {
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
    bucket.settle(Kind::Read, paid, 4400.0, 4400.0);
    bucket.set_rate(4000.0, 1.0);
    let other = || 2;
    let caller = Caller { kind: Kind::Read, connection: Some(2), fingerprint: &other };
    let WaitSeconds(wait_s) = bucket.admit(&caller, 1.0).expect_err("3,600 are still owed");
    assert!((wait_s - 0.9).abs() < 1e-9, "{wait_s}");
}

#[test]
fn nobody_starves_however_many_wait() {
    let mut world = World::new(10_000.0, 50.0, &vec![Manner::Obeys; 2000]);
    world.run(61.0);
    let served = world.clients.iter().map(|client| client.served);
    let (least, most) = served
        .fold((f64::MAX, 0.0_f64), |(least, most), served| (least.min(served), most.max(served)));
    // A client that sends its next request while others rest may be served at once.
    assert!(least > 50.0 && most < 3050.0, "{least} and {most}");
    assert!(world.honesty() >= 0.9, "{}", world.honesty());
}

#[test]
fn nor_where_more_wait_than_there_are_turns() {
    let mut world = World::new(100_000.0, 10.0, &vec![Manner::Obeys; TURNS_MAX + 4000]);
    world.run(31.0);
    let starved = world.clients.iter().filter(|client| client.served == 0.0).count();
    assert_eq!(starved, 0);
    let most = world.clients.iter().map(|client| client.served).fold(0.0, f64::max);
    assert!(most < 31.0 * 100_000.0 / 20_000.0 * 5.0, "{most}");
    world.assert_serves(100_000.0, 31);
}

#[test]
fn three_hundred_callers_who_begin_at_once_do_not_spend_the_next_minute() {
    let mut world = World::new(400.0, 50.0, &[Manner::Obeys; 300]);
    world.spread = 0.0;
    world.run(151.0);
    world.assert_serves(400.0, 151);
    assert!(world.honesty() >= 0.9, "{}", world.honesty());
    // If requests may cost half as much or half as much again, few windows are affected.
    let mut world = World::new(400.0, 50.0, &[Manner::Obeys; 300]);
    world.run(151.0);
    let windows = world.windows(151);
    let is_near = |window: &&f64| (*window / 400.0 - 1.0).abs() <= 0.05;
    assert!(windows.iter().filter(is_near).count() * 100 >= windows.len() * 95, "{windows:?}");
    assert!(world.honesty() >= 0.9, "{}", world.honesty());
}

#[test]
fn few_requests_of_unknown_cost_are_let_in_at_a_time() {
    let mut bucket = Bucket::new(400.0, 0.0);
    let mut paid = Vec::new();
    for request in 0..1000_u64 {
        let fingerprint = || request;
        let connection = Some(request);
        let caller = Caller { kind: Kind::Query, connection, fingerprint: &fingerprint };
        match bucket.admit(&caller, 0.0) {
            Ok(advance) => paid.push(advance),
            Err(WaitSeconds(wait_s)) => assert!((wait_s - 0.01).abs() < 1e-9, "{wait_s}"),
        }
    }
    assert_eq!(paid.len(), UNKNOWN_MAX);
    // The longer the work takes, the longer callers are told to wait.
    let fingerprint = || 5000;
    let caller = Caller { kind: Kind::Query, connection: Some(5000), fingerprint: &fingerprint };
    assert_eq!(bucket.admit(&caller, 0.3), Err(WaitSeconds(0.3)));
    for advance in paid {
        bucket.settle(Kind::Query, advance, 50.0, 50.0);
    }
    // Another kind still gets what they have left.
    let fingerprint = || 6000;
    let caller = Caller { kind: Kind::Read, connection: Some(6000), fingerprint: &fingerprint };
    bucket.admit(&caller, 0.3).expect("200 are left");
}

#[test]
fn turns_that_find_a_debt_are_put_behind_each_other() {
    let mut bucket = Bucket::new(400.0, 0.0);
    let admit = |bucket: &mut Bucket, request: u64, now_s: f64| {
        let fingerprint = || request;
        let connection = Some(request);
        let caller = Caller { kind: Kind::Query, connection, fingerprint: &fingerprint };
        bucket.admit(&caller, now_s)
    };
    let paid = admit(&mut bucket, 0, 0.0).expect("a full bucket");
    bucket.settle(Kind::Query, paid, 40.0, 40.0);
    while admit(&mut bucket, 1, 0.0).is_ok() {}
    for request in 2..40 {
        admit(&mut bucket, request, 0.0).expect_err("spent");
    }
    // Meanwhile something else costs ten seconds' worth.
    bucket.take(4000.0);
    // These turns are due, and within their patience.
    let again = [1, 2, 3].map(|request| admit(&mut bucket, request, 0.5).expect_err("in debt").0);
    assert!((again[0] - (4000.0 - 200.0) / 400.0).abs() < 0.2, "{again:?}");
    assert!(again.is_sorted_by(|one, next| (next - one - 0.1).abs() < 1e-9), "{again:?}");
}

#[test]
fn a_request_of_unknown_cost_that_is_given_up_makes_room() {
    let mut bucket = Bucket::new(400.0, 0.0);
    for request in 0..50_u64 {
        let fingerprint = || request;
        let caller = Caller { kind: Kind::Feed, connection: None, fingerprint: &fingerprint };
        bucket.admit(&caller, 0.0).expect("nobody else is at work");
        bucket.leave(Kind::Feed);
    }
}

#[test]
fn heirs_share_what_is_left_and_what_is_owed() {
    let mut parent = Bucket::new(400.0, 0.0);
    let fingerprint = || 1;
    let caller = Caller { kind: Kind::Query, connection: None, fingerprint: &fingerprint };
    let paid = parent.admit(&caller, 0.0).expect("a full bucket");
    parent.settle(Kind::Query, paid, 1000.0, 1000.0);
    let heir = |parent: &mut Bucket| Bucket::heir(200.0, 0.5, &mut [parent], 0.0);
    assert!((heir(&mut parent).balance + 300.0).abs() < 1e-9);
    assert!((heir(&mut parent).usual(Kind::Query) - 1000.0).abs() < 1e-9);
    // A merge adds up the balances, but saves no more than a second's worth.
    let mut other = Bucket::new(400.0, 0.0);
    let merged = Bucket::heir(800.0, 1.0, &mut [&mut parent, &mut other], 0.0);
    assert!((merged.balance + 200.0).abs() < 1e-9);
    let merged = Bucket::heir(100.0, 1.0, &mut [&mut other], 0.0);
    assert!((merged.balance - 100.0).abs() < 1e-9);
}
