//! Callers that send a different request with every try, like SDKs that generate a new id each
//! time.

use super::*;

/// Returns a bucket with this much debt, given what its requests cost.
fn spent(rate: f64, cost: f64, debt_s: f64) -> Bucket {
    let mut bucket = Bucket::new(rate, 0.0);
    for request in 0..300 {
        let paid = admit(&mut bucket, request, 0.0);
        bucket.settle(Kind::Create, paid.unwrap_or_default(), cost, cost);
        bucket.balance = rate;
    }
    bucket.balance = -debt_s * rate;
    bucket
}

fn admit(bucket: &mut Bucket, request: u64, now_s: f64) -> Result<f64, WaitSeconds> {
    let fingerprint = || request;
    let caller = Caller { kind: Kind::Create, connection: None, fingerprint: &fingerprint };
    bucket.admit(&caller, now_s)
}

/// How long an obedient caller waits.
fn told(WaitSeconds(wait_s): WaitSeconds) -> f64 {
    (wait_s * 1000.0).ceil().max(1.0) / 1000.0
}

#[test]
fn one_wait_is_enough_for_another_request_of_the_kind() {
    for (rate, cost) in [(400.0, 6.0), (1000.0, 6.0), (2000.0, 15.0), (400.0, 300.0)] {
        let mut bucket = spent(rate, cost, 0.05);
        let mut now_s = 0.0;
        for request in 1000..1060 {
            if let Err(wait) = admit(&mut bucket, 2 * request, now_s) {
                now_s += told(wait);
                let paid = admit(&mut bucket, 2 * request + 1, now_s).expect("it waited");
                bucket.settle(Kind::Create, paid, cost, cost);
            }
        }
    }
}

#[test]
fn after_many_who_are_known_a_stranger_alone_is_believed() {
    let mut bucket = spent(1000.0, 6.0, 0.05);
    let mut now_s = 0.0;
    for request in 1000..2000 {
        if let Err(wait) = admit(&mut bucket, request, now_s) {
            now_s += told(wait);
            let paid = admit(&mut bucket, request, now_s).expect("it came back");
            bucket.settle(Kind::Create, paid, 6.0, 6.0);
        }
    }
    assert!(!bucket.kinds[Kind::Create as usize].strangers.are_there());
    while let Ok(paid) = admit(&mut bucket, 1, now_s) {
        bucket.settle(Kind::Create, paid, 6.0, 6.0);
    }
    let wait = admit(&mut bucket, 3000, now_s).expect_err("nothing is left");
    admit(&mut bucket, 3001, now_s + told(wait)).expect("it waited");
}

#[test]
fn refusals_of_callers_who_never_return_are_forgotten() {
    let mut bucket = spent(1000.0, 6.0, 0.01);
    let waits: Vec<f64> = (0..40)
        .map(|request| admit(&mut bucket, 5000 + request, 0.0).expect_err("in debt").0)
        .collect();
    // Forty callers wait in line, and their turns are worth that much.
    assert!((0.2..0.4).contains(&waits[39]), "{waits:?}");
    // A second later nobody has come, and nothing is set aside for them any more.
    let paid = admit(&mut bucket, 6000, 1.0).expect("a second's worth was saved up");
    bucket.settle(Kind::Create, paid, 1010.0, 6.0);
    let WaitSeconds(wait_s) = admit(&mut bucket, 6001, 1.0).expect_err("in debt");
    assert!(wait_s < 0.03, "{wait_s}");
}

#[test]
fn a_turn_is_used_by_one_stranger_only_and_its_owner_is_still_let_in() {
    let mut bucket = spent(1000.0, 6.0, 0.01);
    let wait = admit(&mut bucket, 1, 0.0).expect_err("in debt");
    let now_s = told(wait);
    admit(&mut bucket, 2, now_s).expect("a turn is due");
    admit(&mut bucket, 3, now_s).expect_err("it is used");
    admit(&mut bucket, 1, now_s).expect("it is its own");
    admit(&mut bucket, 1, now_s).expect_err("once");
}

#[test]
fn another_kind_does_not_use_a_turn() {
    let mut bucket = spent(1000.0, 6.0, 0.01);
    let now_s = told(admit(&mut bucket, 1, 0.0).expect_err("in debt"));
    let fingerprint = || 2;
    let caller = Caller { kind: Kind::Query, connection: None, fingerprint: &fingerprint };
    bucket.admit(&caller, now_s).expect_err("what is set aside is for a write");
    admit(&mut bucket, 3, now_s).expect("a write");
}

/// Clients that change their requests, alone and together with some that do not, on connections of
/// their own, on shared ones and on none.
#[test]
fn clients_with_new_ids_get_what_is_reserved_and_do_not_give_up() {
    let mixed =
        |known, strangers| [vec![Manner::Obeys; known], vec![Manner::Renews; strangers]].concat();
    for manners in [mixed(0, 1), mixed(0, 16), mixed(15, 1), mixed(8, 8), mixed(0, 100)] {
        for (rate, cost) in [(400.0, 6.0), (2000.0, 6.0), (1000.0, 15.0)] {
            for (has_connections, is_pool) in [(true, false), (false, false), (true, true)] {
                for late_s in [0.003, 0.015] {
                    let mut world = World::new(rate, cost, &manners);
                    (world.has_connections, world.is_pool) = (has_connections, is_pool);
                    world.late_s = late_s;
                    world.run(21.0);
                    let name = format!(
                        "{} clients, {} with new ids, {cost} of {rate}, {has_connections} {is_pool} {late_s}",
                        manners.len(),
                        manners.iter().filter(|manner| **manner == Manner::Renews).count(),
                    );
                    assert_eq!(world.gave_up, 0, "{name}");
                    if manners.len() == 1 {
                        continue;
                    }
                    world.assert_serves(rate, 21);
                    // Late clients leave their turns to newcomers.
                    let honesty = if late_s < 0.01 { 0.9 } else { 0.7 };
                    assert!(world.honesty() >= honesty, "{name}: {}", world.honesty());
                    let served = world.clients.iter().map(|client| client.served);
                    let (least, most) = served
                        .fold((f64::MAX, 0.0_f64), |(least, most), served| {
                            (least.min(served), most.max(served))
                        });
                    assert!(most / least < 3.0, "{name}: {least} and {most}");
                }
            }
        }
    }
}

/// Clients that repeat their requests come first, however many strangers there are.
#[test]
fn clients_who_keep_their_ids_are_not_worse_off_among_strangers() {
    let mut manners = vec![Manner::Obeys; 8];
    manners.extend([Manner::Renews; 24]);
    for (rate, cost) in [(400.0, 1.0), (400.0, 6.0), (2000.0, 6.0)] {
        let mut world = World::new(rate, cost, &manners);
        world.run(31.0);
        let share = |clients: &[Client]| {
            clients.iter().map(|client| client.served).sum::<f64>() / clients.len() as f64
        };
        let (known, strangers) = (share(&world.clients[..8]), share(&world.clients[8..]));
        assert!(known > 0.85 * strangers, "{known} and {strangers} at {rate}");
    }
}

/// Many creates start at once, each runs once: nobody waits longer than all of them take.
#[test]
fn creates_without_ids_that_begin_together_are_all_done() {
    for rate in [400.0, 1000.0, 2000.0] {
        let mut world = World::new(rate, 6.0, &[Manner::Renews; 1000]);
        world.has_connections = false;
        world.is_once = true;
        let worth_s = 1000.0 * 6.0 / rate;
        world.run(1.3 * worth_s + 1.0);
        let undone = world.clients.iter().filter(|client| client.served == 0.0).count();
        assert_eq!((undone, world.gave_up), (0, 0), "at {rate}");
    }
}
