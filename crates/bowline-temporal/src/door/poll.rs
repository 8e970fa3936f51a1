//! How a call that waits does so: for a bounded time, and not for somebody who has gone.

use std::{pin::pin, time::Duration};

use bowline_core::Time;
use bowline_engine::{Engine, Wait};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Status};

use super::Door;
use crate::{serve::Handover, status::Answer};

/// How long a caller lets a call wait: a bound of ours, or a little less than its own deadline.
pub(super) fn patience<T>(request: &Request<T>, longest: Duration) -> Duration {
    let deadline = request.metadata().get("grpc-timeout").and_then(|text| text.to_str().ok());
    match deadline.and_then(read_timeout) {
        // The answer still has to travel.
        Some(own) => longest.min(own - (own / 10).min(Duration::from_secs(2))),
        None => longest,
    }
}

/// Refuses whoever does not wait for the answer any more: nothing is done for them.
pub(super) fn in_time<T>(request: &Request<T>) -> Answer<()> {
    match patience(request, Duration::MAX).is_zero() {
        true => Err(Status::deadline_exceeded("the deadline was over before the call came")),
        false => Ok(()),
    }
}

/// The moment until which a caller lets a call wait.
pub(super) fn until<T>(engine: &Engine, request: &Request<T>, longest: Duration) -> Time {
    engine.now().after(patience(request, longest))
}

/// What a wait is answered with that has come to nothing: its caller's deadline is the caller's to
/// hear of, a bound of ours is not.
pub(super) fn in_vain<T>(request: &Request<T>, longest: Duration) -> Answer<()> {
    match patience(request, longest) < longest {
        true => Err(Status::deadline_exceeded("nothing happened before the deadline")),
        false => Ok(()),
    }
}

/// gRPC's own form: digits and one letter.
fn read_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at(text.len().checked_sub(1)?);
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.checked_mul(3600)?),
        "M" => Duration::from_secs(number.checked_mul(60)?),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

/// Where a call leaves word of what it has taken; none if it did not come over the network.
pub(super) fn handover<T>(request: &Request<T>) -> Option<Handover> {
    request.extensions().get::<Handover>().cloned()
}

/// Waits for something that another server can wait for as well, until this one drains.
pub(super) async fn while_open<T>(door: &Door, waiting: impl Future<Output = T>) -> Answer<T> {
    tokio::select! {
        biased;
        answer = waiting => Ok(answer),
        () = door.inner.draining.cancelled() => Err(draining()),
    }
}

fn draining() -> Status {
    Status::unavailable("this server is shutting down; ask again")
}

/// Runs something that takes work for a caller on a task of its own, so that work which is being
/// taken is not lost half-way if the caller goes. It is told so, and stops waiting; and also if the
/// worker that asks is leaving.
pub(super) async fn apart<T, F>(
    until: Time,
    leaving: &CancellationToken,
    work: impl FnOnce(Wait) -> F,
) -> Answer<T>
where
    T: Send + 'static,
    F: Future<Output = Answer<T>> + Send + 'static,
{
    let gone = leaving.child_token();
    let _tells = gone.clone().drop_guard();
    let working = tokio::spawn(work(Wait { until, gone }));
    working.await.map_err(|failed| Status::internal(failed.to_string()))?
}

/// The same for a caller who waits for work: a server that drains takes none.
pub(super) async fn taking<T, F>(
    door: &Door,
    until: Time,
    leaving: &CancellationToken,
    work: impl FnOnce(Wait) -> F,
) -> Answer<T>
where
    T: Send + 'static,
    F: Future<Output = Answer<T>> + Send + 'static,
{
    if !door.is_open() {
        return Err(draining());
    }
    let told = leaving.child_token();
    let mut taken = pin!(apart(until, &told, work));
    tokio::select! {
        biased;
        taken = &mut taken => return taken,
        () = door.inner.draining.cancelled() => told.cancel(),
    }
    taken.await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_read_as_grpc_writes_them() {
        assert_eq!(read_timeout("70S"), Some(Duration::from_secs(70)));
        assert_eq!(read_timeout("70000000u"), Some(Duration::from_secs(70)));
        assert_eq!(read_timeout("1H"), Some(Duration::from_secs(3600)));
        for bad in ["", "S", "7", "7x", "-1S", "99999999999999999999S"] {
            assert_eq!(read_timeout(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_wait_ends_before_its_callers_deadline() {
        let mut request = Request::new(());
        let minute = Duration::from_secs(60);
        assert_eq!(patience(&request, minute), minute);
        request.metadata_mut().insert("grpc-timeout", "70S".parse().unwrap());
        assert_eq!(patience(&request, minute), minute);
        request.metadata_mut().insert("grpc-timeout", "10S".parse().unwrap());
        assert_eq!(patience(&request, minute), Duration::from_secs(9));
    }
}
