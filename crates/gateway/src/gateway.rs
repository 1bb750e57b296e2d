//! The pipeline: path, principal, operation, body, one call to the service, response. `door` holds
//! the checks that run before it.

mod door;

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::SocketAddr,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method,
    body::Body,
    http::{request::Parts, uri::PathAndQuery},
};
use protocol::{
    Code, Context, Error, Operation, Options, Principal, Proof, Request, Response, Service, guid,
    rights, service::guarded,
};

use crate::{
    account, activity,
    auth::{self, Token},
    batch,
    body::{self, BodyError},
    decode,
    encode::{self, Answer, Asked},
    fill::{Wants, fill, wants},
    form::Form,
    handled::{self, Credential, Handled},
    headers::{Filtered, Lookup, agent},
    issuers::Issuers,
    local::is_called_local,
    options,
    resource_token::{self, Mint},
    route::{self, Resource, Signed, Target},
    settings::{Keys, Settings},
    version::Version,
};

/// Gets notified of every request when it is over.
pub trait Recorder: Send + Sync {
    /// Records a request. `operation` is one of a fixed set of names; `charge` is in request units.
    fn record(&self, operation: &'static str, status: u16, elapsed: Duration, charge: f64);
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The connection's scheme: `http` or `https`.
    pub scheme: &'static str,
    /// The other end of the connection; `None` if the server does not know it.
    pub peer: Option<SocketAddr>,
}

/// The time of day, against which dates in signatures are checked.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> SystemTime;
}

/// Speaks the REST protocol in front of a service. One gateway serves all connections.
pub struct Gateway {
    service: Arc<dyn Service>,
    settings: Settings,
    /// Separate from the settings because they change while requests are served.
    keys: RwLock<Arc<Keys>>,
    issuers: RwLock<Arc<Issuers>>,
    recorder: Arc<dyn Recorder>,
    clock: Arc<dyn Clock>,
}

impl Gateway {
    /// Makes a gateway in front of `service`.
    pub fn new(
        service: Arc<dyn Service>,
        mut settings: Settings,
        recorder: Arc<dyn Recorder>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let keys = RwLock::new(Arc::new(std::mem::take(&mut settings.keys)));
        Self { service, settings, keys, issuers: RwLock::default(), recorder, clock }
    }

    /// Replaces the keys, from the next request on.
    pub fn set_keys(&self, keys: Keys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Replaces the trusted issuers of access tokens, from the next request on. A new gateway has
    /// none.
    pub fn set_issuers(&self, issuers: Issuers) {
        *self.issuers.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(issuers);
    }

    /// Answers one request; errors become answers, too. Also says what became of it.
    ///
    /// As cancel-safe as the service: the gateway keeps nothing between requests.
    pub async fn handle<B>(
        &self,
        arrival: Arrival,
        parts: &Parts,
        body: B,
    ) -> (hyper::Response<Full<Bytes>>, Handled)
    where
        B: Body<Data = Bytes> + Send + Unpin,
        B::Error: Into<BodyError>,
    {
        let started = Instant::now();
        let headers = Filtered::new(&parts.headers);
        let activity_id = activity::id(&headers);
        let mut known = Known {
            name: "refused",
            version: None,
            is_plan: false,
            is_write: false,
            is_control: false,
            form: Form::default(),
            credential: None,
        };
        let result = self.answer(arrival, (parts, &headers), body, activity_id, &mut known).await;
        let asked = Asked {
            activity_id,
            version: known
                .version
                .or_else(|| Version::read(&headers).ok())
                .unwrap_or(Version::CURRENT),
            agent: agent(&headers),
            path: parts.uri.path(),
            is_https: arrival.scheme == "https",
            is_head: parts.method == Method::HEAD,
            is_plan: known.is_plan,
            form: known.form,
            is_write: known.is_write,
            client_request_id: headers.value(encode::CLIENT_REQUEST_ID),
            elapsed: started.elapsed(),
        };
        let charge = charge_of(&result);
        let cause = result.as_ref().err().map(|error| error.message.clone());
        let is_refused = result.as_ref().is_err_and(|error| handled::is_refusal(error.code));
        let response = encode::response(&asked, result);
        let reason = cause.as_deref().filter(|_| is_refused).map(handled::reason);
        self.conclude(known.name, response.status().as_u16(), &asked, charge, cause);
        let Known { name: operation, is_control, credential, .. } = known;
        let handled =
            Handled { operation, is_control, is_refused, credential, activity_id, reason };
        (response, handled)
    }

    /// Checks the signature of a request outside the protocol. The signature covers `kind` as the
    /// resource type and an empty link. Any key may read; only a read-write key may write. Returns
    /// the outcome to attach to the response, or the complete answer to a refused request.
    pub fn check_signature(
        &self,
        scheme: &'static str,
        parts: &Parts,
        kind: &'static str,
    ) -> Result<Handled, Box<hyper::Response<Full<Bytes>>>> {
        let activity_id = activity::id(&parts.headers);
        let signed = Signed { types: vec![kind.into()], links: vec!["".into()] };
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        let mut credential = None;
        let checked = self.admit(parts, &parts.headers, &signed).and_then(|principal| {
            credential = Some(Credential::of(principal));
            match principal.proof() {
                Proof::Key => Ok(()),
                Proof::ReadOnlyKey if is_read => Ok(()),
                Proof::ReadOnlyKey => rights::check_may_write(principal),
                // Roles apply to data, and tokens to single resources.
                Proof::Role(_) | Proof::Token(_) => {
                    Err(Error::new(Code::Forbidden, "This request needs an account key."))
                }
            }
        });
        match checked {
            Ok(()) => Ok(Handled {
                operation: kind,
                is_control: !is_read,
                is_refused: false,
                credential,
                activity_id,
                reason: None,
            }),
            Err(error) => Err(self.refused(scheme, parts, error, activity_id, credential)),
        }
    }

    /// Processes a request. Fills in `known` as soon as it knows the operation.
    async fn answer<B>(
        &self,
        arrival: Arrival,
        (parts, headers): (&Parts, &Filtered<'_>),
        body: B,
        activity_id: u128,
        known: &mut Known,
    ) -> Result<Answer, Error>
    where
        B: Body<Data = Bytes> + Send + Unpin,
        B::Error: Into<BodyError>,
    {
        let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let mut target = route::parse(path)?;
        let other = route::parse_twice(path);
        if let Some(other) = &other {
            target.signed.links.extend(other.signed.links.iter().cloned());
        }
        let principal = self.admit(parts, headers, &target.signed)?;
        known.credential = Some(Credential::of(principal));
        let bytes_max = self.settings.limits.body_bytes_max;
        let version = Version::read(headers)?;
        known.version = Some(version);

        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        if is_read && matches!(target.resource, Resource::Account) {
            known.name = "read_account";
            body::drain(&parts.headers, body, bytes_max).await?;
            self.check_grant(principal, activity_id).await?;
            let endpoint = self.endpoint(arrival.scheme, parts)?;
            return Ok(Answer::Account(account::body(&self.settings, &endpoint)));
        }

        // A POST may read (a query) or write (a create).
        if !is_read && parts.method != Method::POST {
            rights::check_may_write(principal)?;
        }
        let mut options = options::read(parts, headers, version, &self.settings)?;
        let seconds = options::token_seconds(headers)?;
        let mint = self.mint(&target.resource, seconds);
        options.token_mark = mint.as_ref().map(Mint::mark);
        let again = other.map(|other| (other, options.clone()));
        let mut operation =
            decode::operation(target.resource, parts, headers, version, &mut options)?;
        known.name = operation.name();
        known.is_control = operation.is_control();
        known.is_plan = matches!(operation, Operation::PlanQuery { .. });
        known.form = Form::read(headers, &operation)?;
        known.is_write = !operation.is_read();
        // The service decides. Checking here, too, refuses a request before its body is read.
        rights::check(principal, &operation)?;
        let body = collect(&mut operation, &parts.headers, body, bytes_max).await?;
        let form = batch::Form::of(&body);
        let again = repeat(again, parts, version, &body).await;
        fill(&mut operation, &parts.headers, body).await?;

        let is_offer =
            matches!(operation, Operation::ReadOffer(_) | Operation::ReplaceOffer { .. });
        let is_batch = matches!(operation, Operation::ExecuteBatch { .. });
        let is_query = matches!(operation, Operation::Query { .. });
        let connection = connection_of(arrival, parts);
        let context = Context { connection, ..Context::new(principal, activity_id) };
        let request = Request { operation, options };
        let answer = self.ask(&context, request, again).await;
        let told = |error| if is_query { options::told_finally(error, headers) } else { error };
        let mut response = known.form.trim(answer.map_err(told)?);
        if let Some(mint) = mint {
            response = mint.fill(response)?;
        }
        Ok(match response {
            response if is_offer => Answer::Offer(response),
            response if is_batch => Answer::Batch(response, form),
            response => Answer::Service(response),
        })
    }

    /// Calls the service. If the path has a second meaning and the first one finds nothing, calls
    /// it again with that.
    async fn ask(
        &self,
        context: &Context,
        request: Request,
        again: Option<Request>,
    ) -> Result<Response, Error> {
        let answer = guarded(self.service.as_ref(), context, request).await;
        let is_nothing = |error: &Error| match error.code {
            Code::NotFound | Code::OwnerNotFound => true,
            // A token for the resource that the path really names does not cover the one that it
            // seems to name.
            Code::Forbidden => matches!(context.principal.proof(), Proof::Token(_)),
            _ => false,
        };
        match (answer, again) {
            (Err(error), Some(request)) if is_nothing(&error) => {
                guarded(self.service.as_ref(), context, request).await
            }
            (answer, _) => answer,
        }
    }

    /// Refuses a token whose permission is gone; only the database knows that.
    async fn check_grant(&self, principal: Principal, activity_id: u128) -> Result<(), Error> {
        if !matches!(principal.proof(), Proof::Token(_)) {
            return Ok(());
        }
        let context = Context::new(principal, activity_id);
        let request = Request { operation: Operation::ReadAccount, options: Options::default() };
        guarded(self.service.as_ref(), &context, request).await.map(|_| ())
    }

    /// Returns a maker of tokens if the resource may need some.
    fn mint(&self, resource: &Resource, seconds: u32) -> Option<Mint> {
        let is_asked = matches!(resource, Resource::Permissions(_) | Resource::Permission(_));
        is_asked.then(|| Mint::new(read(&self.keys), self.clock.now(), seconds)).flatten()
    }

    /// Authenticates the request.
    fn admit(
        &self,
        parts: &Parts,
        headers: &impl Lookup,
        signed: &Signed<'_>,
    ) -> Result<Principal, Error> {
        let now = self.clock.now();
        match auth::token(headers)? {
            Token::Signature(signature) => {
                let keys = read(&self.keys);
                let (principal, secrecy) =
                    auth::verify(&parts.method, signed, headers, signature.as_ref(), &keys, now)?;
                self.check_name(parts, secrecy)?;
                Ok(principal)
            }
            Token::Resource(token) => {
                let (grant, secrecy) = resource_token::verify(&token, &read(&self.keys), now)?;
                self.check_name(parts, secrecy)?;
                Ok(Principal::of_token(grant))
            }
            Token::Access(token) => {
                let issuers = read(&self.issuers);
                issuers.check_name(is_called_local(&parts.headers, &parts.uri))?;
                let role = issuers.verify(&token, now)?;
                Ok(Principal::of_role(role))
            }
        }
    }

    fn conclude(
        &self,
        operation: &'static str,
        status: u16,
        asked: &Asked<'_>,
        charge: f64,
        cause: Option<String>,
    ) {
        // A 503 follows from a state that was logged when it began.
        if status == 500 {
            tracing::error!(
                activity_id = %guid::text(asked.activity_id),
                operation,
                status,
                cause = cause.as_deref().unwrap_or_default(),
                "request failed"
            );
        }
        self.recorder.record(operation, status, asked.elapsed, charge);
    }
}

/// Reads the kind of body that the operation takes.
async fn collect<B>(
    operation: &mut Operation,
    headers: &HeaderMap,
    body: B,
    bytes_max: usize,
) -> Result<Bytes, Error>
where
    B: Body<Data = Bytes> + Send + Unpin,
    B::Error: Into<BodyError>,
{
    match wants(operation) {
        Wants::Raw => body::read_raw(headers, body, bytes_max).await,
        Wants::TextOrNothing => body::read_any(headers, body, bytes_max).await,
        Wants::Text => body::read(headers, body, bytes_max).await,
        Wants::Nothing => body::drain(headers, body, bytes_max).await.map(|()| Bytes::new()),
    }
}

/// Returns the current value. A poisoned lock still holds a whole value, since replacing it cannot
/// fail.
fn read<T>(lock: &RwLock<Arc<T>>) -> Arc<T> {
    Arc::clone(&lock.read().unwrap_or_else(PoisonError::into_inner))
}

/// Returns a number for the connection if requests come over it one at a time, as before HTTP/2.
fn connection_of(arrival: Arrival, parts: &Parts) -> Option<u64> {
    let peer = arrival.peer.filter(|_| parts.version < hyper::Version::HTTP_2)?;
    Some(match peer {
        // Address and port fit.
        SocketAddr::V4(peer) => u64::from(peer.ip().to_bits()) << 16 | u64::from(peer.port()),
        SocketAddr::V6(peer) => {
            let mut hasher = DefaultHasher::new();
            peer.hash(&mut hasher);
            hasher.finish()
        }
    })
}

/// What the gateway knows about a request's operation, also if the request fails.
struct Known {
    /// The operation's name, for the recorder.
    name: &'static str,
    /// `None` if the request was refused before its version was read.
    version: Option<Version>,
    /// Whether the request asks for a query plan, which changes the text of errors.
    is_plan: bool,
    is_write: bool,
    is_control: bool,
    form: Form,
    credential: Option<Credential>,
}

/// Builds a second request, for the resource that a twice encoded path names.
async fn repeat(
    again: Option<(Target<'_>, Options)>,
    parts: &Parts,
    version: Version,
    body: &Bytes,
) -> Option<Request> {
    let (other, mut options) = again?;
    let headers = Filtered::new(&parts.headers);
    let again = decode::operation(other.resource, parts, &headers, version, &mut options);
    let mut again = again.ok()?;
    fill(&mut again, &parts.headers, body.clone()).await.ok()?;
    Some(Request { operation: again, options })
}

fn charge_of(result: &Result<Answer, Error>) -> f64 {
    match result {
        Ok(Answer::Account(_)) => 0.0,
        Ok(Answer::Service(response) | Answer::Offer(response) | Answer::Batch(response, _)) => {
            response.meta.charge
        }
        Err(error) => error.meta.charge,
    }
}
