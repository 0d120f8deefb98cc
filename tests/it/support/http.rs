//! A scripted HTTP and event stream server on loopback: it says when each byte is sent and how the connection ends.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Captured {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Captured {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What happens to a body, in order.
#[derive(Debug, Clone)]
enum Step {
    Send(Bytes),
    /// Goes on when the test says so.
    Gate(Arc<Notify>),
    /// Goes on never.
    Stall,
    /// The connection ends in the middle of the body.
    Break,
}

/// An answer, or what stands for one.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    steps: Vec<Step>,
    /// Sent instead of an HTTP answer; then the connection ends, by a reset where it says so.
    raw: Option<(Bytes, bool)>,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            steps: Vec::new(),
            raw: None,
        }
    }

    /// Events of a stream, each sent as a chunk of its own.
    pub(crate) fn events<E: ToString>(events: impl IntoIterator<Item = E>) -> Self {
        let reply = Self::status(200).header("content-type", "text/event-stream");
        events
            .into_iter()
            .fold(reply, |reply, event| reply.event(&event.to_string()))
    }

    /// Bytes that need not be HTTP; `reset` ends the connection with a reset instead of an orderly close.
    pub(crate) fn raw(bytes: impl Into<Bytes>, reset: bool) -> Self {
        Self {
            raw: Some((bytes.into(), reset)),
            ..Self::status(200)
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn event(self, data: &str) -> Self {
        self.send(format!("data: {data}\n\n"))
    }

    pub(crate) fn done(self) -> Self {
        self.event("[DONE]")
    }

    pub(crate) fn send(mut self, bytes: impl Into<Bytes>) -> Self {
        self.steps.push(Step::Send(bytes.into()));
        self
    }

    pub(crate) fn gate(mut self, gate: &Arc<Notify>) -> Self {
        self.steps.push(Step::Gate(Arc::clone(gate)));
        self
    }

    pub(crate) fn stall(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    pub(crate) fn break_off(mut self) -> Self {
        self.steps.push(Step::Break);
        self
    }

    /// The same body, cut into chunks of `size` bytes.
    pub(crate) fn in_chunks_of(self, size: usize) -> Self {
        self.cut(|| size)
    }

    /// The same body, cut into pieces of up to some hundred bytes.
    pub(crate) fn in_random_pieces(self, random: &mut fastrand::Rng) -> Self {
        self.cut(|| random.usize(1..400))
    }

    /// Some first part of the same body, and then an orderly end.
    pub(crate) fn without_its_end(mut self, random: &mut fastrand::Rng) -> Self {
        let all = self.body();
        let kept = all[..random.usize(1..all.len() / 2)].to_vec();
        self.steps = vec![Step::Send(kept.into())];
        self
    }

    /// The same body in pieces, each as long as `size` says.
    fn cut(mut self, mut size: impl FnMut() -> usize) -> Self {
        let all = self.body();
        let (mut rest, mut steps) = (&all[..], Vec::new());
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(size().clamp(1, rest.len()));
            steps.push(Step::Send(piece.to_vec().into()));
            rest = after;
        }
        self.steps = steps;
        self
    }

    fn body(&self) -> Vec<u8> {
        let sent = self.steps.iter().map(|step| match step {
            Step::Send(bytes) => &bytes[..],
            Step::Gate(_) | Step::Stall | Step::Break => &[],
        });
        sent.collect::<Vec<_>>().concat()
    }
}

/// A chunk of a chat completion with this delta.
pub(crate) fn delta(delta: Value) -> Value {
    json!({"model": "m-served", "choices": [{"index": 0, "delta": delta}]})
}

/// The chunk that ends a chat completion.
pub(crate) fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// A complete answer of one text.
pub(crate) fn says(text: &str) -> Reply {
    Reply::events([delta(json!({"content": text})), finish("stop")]).done()
}

struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    captured: Mutex<Vec<Captured>>,
    connections: Mutex<usize>,
    /// Requests that are being answered, and the most there were at once.
    answering: Mutex<(usize, usize)>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server. It ends when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    /// Answers one request after the other as `replies` say, and every later one with a 500.
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies.into_iter().collect()),
            captured: Mutex::default(),
            connections: Mutex::default(),
            answering: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            accepting,
        }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Captured> {
        lock(&self.shared.captured).clone()
    }

    /// How many requests were being answered at once, at most.
    pub(crate) fn most_at_once(&self) -> usize {
        lock(&self.shared.answering).1
    }

    /// How many connections were accepted so far.
    pub(crate) fn connections(&self) -> usize {
        *lock(&self.shared.connections)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut serving = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        *lock(&shared.connections) += 1;
        let raw = {
            let mut replies = lock(&shared.replies);
            match replies.front() {
                Some(Reply { raw: Some(_), .. }) => replies.pop_front().and_then(|reply| reply.raw),
                _ => None,
            }
        };
        let shared = Arc::clone(&shared);
        serving.spawn(async move {
            match raw {
                Some((bytes, reset)) => {
                    // A client that has gone away meanwhile is what some tests want.
                    let _gone = serve_raw(stream, &bytes, reset).await;
                }
                None => {
                    let service = service_fn(|request| answer(request, &shared));
                    let _gone = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                }
            }
        });
    }
}

/// Reads a request up to the end of its head, so that the client is listening, and sends the bytes.
async fn serve_raw(mut stream: TcpStream, bytes: &[u8], reset: bool) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    stream.write_all(bytes).await?;
    stream.flush().await?;
    if reset {
        // What the client has not read yet may be lost with a reset, as it is in life.
        stream.set_zero_linger()?;
        return Ok(());
    }
    stream.shutdown().await?;
    // A request's body that nobody reads would turn the close into a reset.
    let mut rest = Vec::new();
    let drained = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest));
    drained.await.map(drop).map_err(io::Error::other)
}

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, io::Error>;

/// A request that is being answered, until its body has been sent or given up.
struct Answering(Arc<Shared>);

impl Answering {
    fn new(shared: &Arc<Shared>) -> Self {
        let (now, most) = &mut *lock(&shared.answering);
        *now += 1;
        *most = (*most).max(*now);
        Self(Arc::clone(shared))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        lock(&self.0.answering).0 -= 1;
    }
}

async fn answer(
    request: Request<Incoming>,
    shared: &Arc<Shared>,
) -> Result<Response<Body>, Infallible> {
    let answering = Answering::new(shared);
    let (head, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes)
        .unwrap_or_default();
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| {
            (
                name.to_string(),
                String::from_utf8_lossy(value.as_bytes()).into_owned(),
            )
        })
        .collect();
    lock(&shared.captured).push(Captured {
        path: head.uri.path().to_owned(),
        headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    });
    let reply = lock(&shared.replies)
        .pop_front()
        .unwrap_or_else(|| Reply::status(500).send("the test has no more replies"));
    let mut response = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(name, value);
    }
    Ok(response
        .body(play(reply.steps, answering))
        .expect("a response"))
}

fn play(steps: Vec<Step>, answering: Answering) -> Body {
    let begin = (steps.into_iter(), answering);
    let steps = stream::unfold(begin, |(mut steps, answering)| async move {
        loop {
            match steps.next()? {
                Step::Send(bytes) => return Some((Ok(Frame::data(bytes)), (steps, answering))),
                Step::Gate(gate) => gate.notified().await,
                Step::Stall => std::future::pending().await,
                Step::Break => {
                    // What was sent before leaves the machine only while the body has nothing more to say.
                    tokio::task::yield_now().await;
                    let error = io::Error::other("as scripted");
                    return Some((Err(error), (steps, answering)));
                }
            }
        }
    });
    StreamBody::new(Box::pin(steps)).boxed_unsync()
}
