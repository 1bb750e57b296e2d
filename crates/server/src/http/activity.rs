//! What a connection is doing, and when it has done too little for too long.
//!
//! hyper's own header timeout also runs while a kept-alive connection is idle, so that it cannot
//! be short against slow clients and long for idle ones. This file tells the two apart: the
//! transport reports bytes, the service reports requests, and [`Watchdog`] ends the connection
//! whose deadline passes.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::Version;
use net::Timeouts;
use tokio::time::{Instant, Sleep, sleep_until};

/// Why a connection has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The head of a request did not arrive in time.
    SlowHead,
    /// The client does not read what it asked for.
    StalledWrite,
    /// Nothing was asked for a long time.
    Idle,
    /// Nothing was asked for a moment: the connection may rest.
    Quiet,
}

/// How long a connection has to be quiet before it rests, unless many others do not rest either.
const QUIET: Duration = Duration::from_secs(2);
/// How many connections may be awake before they rest sooner.
const AWAKE_MANY: u32 = 128;

/// How long a connection on which nobody has authenticated may be idle. Such connections must not keep
/// others out.
const STRANGER_IDLE_MAX: Duration = Duration::from_secs(30);

/// What one connection is doing. Shared by its transport, its requests and its watchdog.
#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Running requests; above one only in HTTP/2.
    requests: u32,
    /// Somebody authenticated on it.
    is_proven: bool,
    /// A part of a request's body may still come: only hyper knows where the next request begins.
    is_left_unread: bool,
    /// HTTP/2: bytes outside requests (settings, pings) are normal and start no request head.
    is_multiplexed: bool,
    /// When the connection began, or its last request ended.
    quiet_since: Instant,
    /// When the first byte of the present request head came.
    head_since: Option<Instant>,
    /// Since when a write waits for the client to read.
    blocked_since: Option<Instant>,
    /// The answers that are not written yet, and when the last piece of each was taken. There are as
    /// many as requests: one in HTTP/1, some in HTTP/2.
    answers: Vec<(AnswerId, Instant)>,
    next_answer: AnswerId,
}

/// Tells the answers of a connection apart.
pub(super) type AnswerId = u64;

impl Activity {
    /// A connection whose first byte is there: the rest of the head has to follow.
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(State {
            requests: 0,
            is_proven: false,
            is_left_unread: false,
            is_multiplexed: false,
            quiet_since: now,
            head_since: Some(now),
            blocked_since: None,
            answers: Vec::new(),
            next_answer: 0,
        }))
    }

    /// The HTTP/2 preface was seen.
    pub(super) fn is_http2(&self) {
        let mut state = self.lock();
        state.is_multiplexed = true;
        state.head_since = None;
    }

    /// Bytes came from the client.
    pub(super) fn read(&self, now: Instant) {
        let mut state = self.lock();
        if state.requests == 0 && !state.is_multiplexed {
            state.head_since.get_or_insert(now);
        }
    }

    /// The client takes no more bytes for the moment.
    pub(super) fn write_blocked(&self, now: Instant) {
        self.lock().blocked_since.get_or_insert(now);
    }

    /// The client takes bytes again.
    pub(super) fn write_moved(&self) {
        self.lock().blocked_since = None;
    }

    /// A request's head is complete. The request ends when the guard is dropped.
    pub(super) fn request(self: &Arc<Self>, version: Version) -> RequestGuard {
        let mut state = self.lock();
        state.requests += 1;
        state.is_multiplexed = version == Version::HTTP_2;
        state.head_since = None;
        drop(state);
        RequestGuard { activity: Arc::clone(self), answer: None }
    }

    /// A piece of an answer was taken, because the client has room for it.
    pub(super) fn answer_moved(&self, id: AnswerId, now: Instant) {
        if let Some((_, since)) = self.lock().answers.iter_mut().find(|(it, _)| *it == id) {
            *since = now;
        }
    }

    /// The number of running requests.
    #[cfg(test)]
    pub(super) fn requests(&self) -> u32 {
        self.lock().requests
    }

    /// When the connection is to be ended unless something happens before, and why. A connection that
    /// is awake may rest when it has been `quiet` for so long.
    fn deadline(&self, timeouts: &Timeouts, quiet: Option<Duration>) -> Option<(Instant, Cause)> {
        let state = self.lock();
        let can_rest = !state.is_multiplexed
            && !state.is_left_unread
            && state.blocked_since.is_none()
            && state.answers.is_empty();
        let blocked =
            state.blocked_since.map(|since| (since + timeouts.stall, Cause::StalledWrite));
        // An HTTP/2 client can close its window instead, and then no write is tried at all.
        // HTTP/1 has no such thing, and may take its time from piece to piece.
        let taken = state.answers.iter().map(|(_, since)| *since);
        let unread = taken.min().filter(|_| state.is_multiplexed);
        let unread = unread.map(|since| (since + timeouts.stall, Cause::StalledWrite));
        let quiet = match (state.requests, state.head_since) {
            (0, Some(since)) => Some((since + timeouts.header, Cause::SlowHead)),
            (0, None) => {
                let idle = if state.is_proven {
                    timeouts.idle
                } else {
                    timeouts.idle.min(STRANGER_IDLE_MAX)
                };
                match quiet.filter(|quiet| can_rest && *quiet < idle) {
                    Some(quiet) => Some((state.quiet_since + quiet, Cause::Quiet)),
                    None => Some((state.quiet_since + idle, Cause::Idle)),
                }
            }
            _ => None,
        };
        [blocked, unread, quiet].into_iter().flatten().min_by_key(|(deadline, _)| *deadline)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every critical section leaves the state whole, even if its thread dies there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running request.
#[derive(Debug)]
pub(super) struct RequestGuard {
    activity: Arc<Activity>,
    answer: Option<AnswerId>,
}

impl RequestGuard {
    /// Notes that the request's sender authenticated.
    pub(super) fn prove(&self) {
        self.activity.lock().is_proven = true;
    }

    /// Notes that the request's body was not read to its end.
    pub(super) fn leave_unread(&self) {
        self.activity.lock().is_left_unread = true;
    }

    /// The answer is there, and is to be written from now on.
    pub(super) fn answer(&mut self, now: Instant) -> (Arc<Activity>, AnswerId) {
        let mut state = self.activity.lock();
        let id = state.next_answer;
        state.next_answer += 1;
        state.answers.push((id, now));
        drop(state);
        self.answer = Some(id);
        (Arc::clone(&self.activity), id)
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.requests -= 1;
        if let Some(id) = self.answer {
            state.answers.retain(|(it, _)| *it != id);
        }
        state.quiet_since = Instant::now();
    }
}

/// The connections that do not rest. Clones count together.
///
/// A connection that is awake has buffers, and memory for a request. Where many are, each may keep them
/// for a shorter time, so that those that are used once in a while do not all have them at once: an
/// allocator does not give back all of what thousands have had.
#[derive(Clone, Debug, Default)]
pub(super) struct Awake(Arc<AtomicU32>);

impl Awake {
    /// How long a connection has to be quiet before it rests.
    fn quiet(&self) -> Duration {
        let awake = self.0.load(Ordering::Relaxed);
        if awake <= AWAKE_MANY { QUIET } else { QUIET * AWAKE_MANY / awake }
    }

    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn discount(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits until a connection's deadline passes.
///
/// It must be polled by the task that drives the connection, after the connection itself: what
/// changes a deadline also wakes that task, so that no signal between the two is needed.
#[derive(Debug)]
pub(super) struct Watchdog {
    activity: Arc<Activity>,
    timeouts: Timeouts,
    timer: Pin<Box<Sleep>>,
    awake: Awake,
    is_resting: bool,
}

impl Watchdog {
    /// Watches `activity`, of a connection that is `awake`.
    pub(super) fn new(activity: Arc<Activity>, timeouts: Timeouts, awake: Awake) -> Self {
        let timer = Box::pin(sleep_until(Instant::now() + timeouts.header));
        awake.count();
        Self { activity, timeouts, timer, awake, is_resting: false }
    }

    /// Whether the connection rests already.
    pub(super) fn let_rest(&mut self, is_resting: bool) {
        match (self.is_resting, is_resting) {
            (false, true) => self.awake.discount(),
            (true, false) => self.awake.count(),
            _ => {}
        }
        self.is_resting = is_resting;
    }

    /// Ready when the connection has to go.
    pub(super) fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<Cause> {
        loop {
            let quiet = (!self.is_resting).then(|| self.awake.quiet());
            let deadline = self.activity.deadline(&self.timeouts, quiet);
            let Some((deadline, cause)) = deadline else { return Poll::Pending };
            // A timer that is early is left alone: moving it at every request would cost more
            // than the one needless wake-up.
            if deadline < self.timer.deadline() || self.timer.is_elapsed() {
                self.timer.as_mut().reset(deadline);
            }
            ready!(self.timer.as_mut().poll(context));
            if deadline <= Instant::now() {
                return Poll::Ready(cause);
            }
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.let_rest(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUTS: Timeouts = Timeouts {
        header: Duration::from_secs(10),
        stall: Duration::from_secs(30),
        idle: Duration::from_mins(5),
        shutdown: Duration::from_secs(1),
    };

    #[test]
    fn each_phase_has_its_deadline() {
        let start = Instant::now();
        let activity = Arc::new(Activity::new(start));
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(activity.deadline(&TIMEOUTS, None), Some((after(10), Cause::SlowHead)));
        let request = activity.request(Version::HTTP_11);
        assert_eq!(activity.deadline(&TIMEOUTS, None), None);
        activity.write_blocked(after(5));
        activity.write_blocked(after(6));
        assert_eq!(activity.deadline(&TIMEOUTS, None), Some((after(35), Cause::StalledWrite)));
        activity.write_moved();
        drop(request);
        assert!(matches!(activity.deadline(&TIMEOUTS, None), Some((_, Cause::Idle))));
        activity.read(after(20));
        activity.read(after(25));
        assert_eq!(activity.deadline(&TIMEOUTS, None), Some((after(30), Cause::SlowHead)));
    }

    #[test]
    fn an_answer_that_is_not_taken_has_its_deadline() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let activity = Arc::new(Activity::new(start));
        let (mut one, mut other) =
            (activity.request(Version::HTTP_2), activity.request(Version::HTTP_2));
        assert_eq!(activity.deadline(&TIMEOUTS, None), None);
        let (_, id) = one.answer(after(1));
        other.answer(after(2));
        assert_eq!(activity.deadline(&TIMEOUTS, None), Some((after(31), Cause::StalledWrite)));
        activity.answer_moved(id, after(3));
        assert_eq!(activity.deadline(&TIMEOUTS, None), Some((after(32), Cause::StalledWrite)));
        drop(other);
        assert_eq!(activity.deadline(&TIMEOUTS, None), Some((after(33), Cause::StalledWrite)));
        drop(one);
        assert!(matches!(activity.deadline(&TIMEOUTS, None), Some((_, Cause::Idle))));
    }

    #[test]
    fn pings_of_http2_start_no_head() {
        let start = Instant::now();
        let activity = Activity::new(start);
        activity.is_http2();
        activity.read(start + Duration::from_secs(1));
        let idle = start + STRANGER_IDLE_MAX;
        assert_eq!(activity.deadline(&TIMEOUTS, None), Some((idle, Cause::Idle)));
    }

    #[test]
    fn a_quiet_connection_rests() {
        let activity = Arc::new(Activity::new(Instant::now()));
        drop(activity.request(Version::HTTP_11));
        let quiet = activity.lock().quiet_since + QUIET;
        assert_eq!(activity.deadline(&TIMEOUTS, Some(QUIET)), Some((quiet, Cause::Quiet)));
        activity.write_blocked(Instant::now());
        assert!(!matches!(activity.deadline(&TIMEOUTS, Some(QUIET)), Some((_, Cause::Quiet))));
        activity.write_moved();
        drop(activity.request(Version::HTTP_2));
        assert!(matches!(activity.deadline(&TIMEOUTS, Some(QUIET)), Some((_, Cause::Idle))));
        activity.request(Version::HTTP_11).leave_unread();
        assert!(matches!(activity.deadline(&TIMEOUTS, Some(QUIET)), Some((_, Cause::Idle))));
    }

    #[tokio::test]
    async fn connections_rest_sooner_where_many_are_awake() {
        let awake = Awake::default();
        let watchdog = || {
            let activity = Arc::new(Activity::new(Instant::now()));
            Watchdog::new(activity, TIMEOUTS, awake.clone())
        };
        let mut watchdogs: Vec<_> = (0..AWAKE_MANY).map(|_| watchdog()).collect();
        assert_eq!(awake.quiet(), QUIET);
        watchdogs.extend((0..AWAKE_MANY).map(|_| watchdog()));
        assert_eq!(awake.quiet(), QUIET / 2);
        for watchdog in watchdogs.iter_mut().take(AWAKE_MANY as usize) {
            watchdog.let_rest(true);
        }
        assert_eq!(awake.quiet(), QUIET);
        // Some that rest are closed, some wake up, and no connection is counted twice.
        watchdogs.truncate(AWAKE_MANY as usize);
        assert_eq!(awake.0.load(Ordering::Relaxed), 0);
        watchdogs[0].let_rest(false);
        watchdogs[0].let_rest(false);
        assert_eq!(awake.0.load(Ordering::Relaxed), 1);
        watchdogs.clear();
        assert_eq!(awake.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn strangers_may_not_be_idle_for_long() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let idle = |time: Duration| {
            let (deadline, cause) = activity.deadline(&TIMEOUTS, None).unwrap();
            assert_eq!(cause, Cause::Idle);
            assert_eq!(deadline, activity.lock().quiet_since + time);
        };
        drop(activity.request(Version::HTTP_11));
        idle(STRANGER_IDLE_MAX);
        activity.request(Version::HTTP_11).prove();
        idle(TIMEOUTS.idle);
    }
}
