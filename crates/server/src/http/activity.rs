//! What a connection is doing, and when it has done too little for too long.
//!
//! hyper's own header timeout also runs while a kept-alive connection is idle, so that it cannot
//! be short against slow clients and long for idle ones. This file tells the two apart: the
//! transport reports bytes, the service reports requests, and [`Watchdog`] ends the connection
//! whose deadline passes.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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

/// How long a connection has to be quiet before it rests.
const QUIET: Duration = Duration::from_secs(2);

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
    /// The answers that are not written yet, and when the last piece of each was taken.
    answers: BTreeMap<AnswerId, Instant>,
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
            answers: BTreeMap::new(),
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
        if let Some(since) = self.lock().answers.get_mut(&id) {
            *since = now;
        }
    }

    /// The number of running requests.
    #[cfg(test)]
    pub(super) fn requests(&self) -> u32 {
        self.lock().requests
    }

    /// When the connection is to be ended unless something happens before, and why.
    fn deadline(&self, timeouts: &Timeouts, is_resting: bool) -> Option<(Instant, Cause)> {
        let state = self.lock();
        let can_rest = !is_resting
            && !state.is_multiplexed
            && !state.is_left_unread
            && state.blocked_since.is_none()
            && state.answers.is_empty();
        let blocked =
            state.blocked_since.map(|since| (since + timeouts.stall, Cause::StalledWrite));
        // An HTTP/2 client can close its window instead, and then no write is tried at all.
        // HTTP/1 has no such thing, and may take its time from piece to piece.
        let unread = state.answers.values().min().filter(|_| state.is_multiplexed);
        let unread = unread.map(|since| (*since + timeouts.stall, Cause::StalledWrite));
        let quiet = match (state.requests, state.head_since) {
            (0, Some(since)) => Some((since + timeouts.header, Cause::SlowHead)),
            (0, None) => {
                let idle = if state.is_proven {
                    timeouts.idle
                } else {
                    timeouts.idle.min(STRANGER_IDLE_MAX)
                };
                if can_rest && idle > QUIET {
                    Some((state.quiet_since + QUIET, Cause::Quiet))
                } else {
                    Some((state.quiet_since + idle, Cause::Idle))
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
        state.answers.insert(id, now);
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
            state.answers.remove(&id);
        }
        state.quiet_since = Instant::now();
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
    is_resting: bool,
}

impl Watchdog {
    /// Watches `activity`.
    pub(super) fn new(activity: Arc<Activity>, timeouts: Timeouts) -> Self {
        let timer = Box::pin(sleep_until(Instant::now() + timeouts.header));
        Self { activity, timeouts, timer, is_resting: false }
    }

    /// Whether the connection rests already.
    pub(super) fn let_rest(&mut self, is_resting: bool) {
        self.is_resting = is_resting;
    }

    /// Ready when the connection has to go.
    pub(super) fn poll_expired(&mut self, context: &mut Context<'_>) -> Poll<Cause> {
        loop {
            let deadline = self.activity.deadline(&self.timeouts, self.is_resting);
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
        assert_eq!(activity.deadline(&TIMEOUTS, true), Some((after(10), Cause::SlowHead)));
        let request = activity.request(Version::HTTP_11);
        assert_eq!(activity.deadline(&TIMEOUTS, true), None);
        activity.write_blocked(after(5));
        activity.write_blocked(after(6));
        assert_eq!(activity.deadline(&TIMEOUTS, true), Some((after(35), Cause::StalledWrite)));
        activity.write_moved();
        drop(request);
        assert!(matches!(activity.deadline(&TIMEOUTS, true), Some((_, Cause::Idle))));
        activity.read(after(20));
        activity.read(after(25));
        assert_eq!(activity.deadline(&TIMEOUTS, true), Some((after(30), Cause::SlowHead)));
    }

    #[test]
    fn an_answer_that_is_not_taken_has_its_deadline() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let activity = Arc::new(Activity::new(start));
        let (mut one, mut other) =
            (activity.request(Version::HTTP_2), activity.request(Version::HTTP_2));
        assert_eq!(activity.deadline(&TIMEOUTS, true), None);
        let (_, id) = one.answer(after(1));
        other.answer(after(2));
        assert_eq!(activity.deadline(&TIMEOUTS, true), Some((after(31), Cause::StalledWrite)));
        activity.answer_moved(id, after(3));
        assert_eq!(activity.deadline(&TIMEOUTS, true), Some((after(32), Cause::StalledWrite)));
        drop(other);
        assert_eq!(activity.deadline(&TIMEOUTS, true), Some((after(33), Cause::StalledWrite)));
        drop(one);
        assert!(matches!(activity.deadline(&TIMEOUTS, true), Some((_, Cause::Idle))));
    }

    #[test]
    fn pings_of_http2_start_no_head() {
        let start = Instant::now();
        let activity = Activity::new(start);
        activity.is_http2();
        activity.read(start + Duration::from_secs(1));
        let idle = start + STRANGER_IDLE_MAX;
        assert_eq!(activity.deadline(&TIMEOUTS, true), Some((idle, Cause::Idle)));
    }

    #[test]
    fn a_quiet_connection_rests() {
        let activity = Arc::new(Activity::new(Instant::now()));
        drop(activity.request(Version::HTTP_11));
        let quiet = activity.lock().quiet_since + QUIET;
        assert_eq!(activity.deadline(&TIMEOUTS, false), Some((quiet, Cause::Quiet)));
        activity.write_blocked(Instant::now());
        assert!(!matches!(activity.deadline(&TIMEOUTS, false), Some((_, Cause::Quiet))));
        activity.write_moved();
        drop(activity.request(Version::HTTP_2));
        assert!(matches!(activity.deadline(&TIMEOUTS, false), Some((_, Cause::Idle))));
        activity.request(Version::HTTP_11).leave_unread();
        assert!(matches!(activity.deadline(&TIMEOUTS, false), Some((_, Cause::Idle))));
    }

    #[test]
    fn strangers_may_not_be_idle_for_long() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let idle = |time: Duration| {
            let (deadline, cause) = activity.deadline(&TIMEOUTS, true).unwrap();
            assert_eq!(cause, Cause::Idle);
            assert_eq!(deadline, activity.lock().quiet_since + time);
        };
        drop(activity.request(Version::HTTP_11));
        idle(STRANGER_IDLE_MAX);
        activity.request(Version::HTTP_11).prove();
        idle(TIMEOUTS.idle);
    }
}
