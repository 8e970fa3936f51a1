//! Server-sent events, read one by one.

use std::marker::PhantomData;

use anyhow::Result;
use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

/// The longest event.
const EVENT_MAX: usize = 64 * 1024 * 1024;

/// What is told again and again.
pub(crate) struct Stream<T> {
    body: BodyDataStream,
    unread: Vec<u8>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Stream<T> {
    pub(super) fn new(body: Body) -> Self {
        Self { body: body.into_data_stream(), unread: Vec::new(), kind: PhantomData }
    }

    /// The next event that has data; none when there are no more.
    async fn text(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = self.unread.drain(..end + 2).collect();
                let event = String::from_utf8_lossy(&event);
                let data = event.lines().filter_map(|line| line.strip_prefix("data:"));
                let data: Vec<&str> =
                    data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
                match data.is_empty() {
                    // It only says that it is there.
                    true => continue,
                    false => return Ok(Some(data.join("\n"))),
                }
            }
            anyhow::ensure!(self.unread.len() <= EVENT_MAX, "an event is too long");
            match self.body.next().await {
                Some(part) => self.unread.extend_from_slice(&part?),
                None => return Ok(None),
            }
        }
    }

    /// Waits until something is told, whatever it is; false when nothing will be.
    pub(crate) async fn told(&mut self) -> Result<bool> {
        Ok(self.text().await?.is_some())
    }
}

impl<T: DeserializeOwned> Stream<T> {
    /// The next one; none when there are no more.
    pub(crate) async fn next(&mut self) -> Result<Option<T>> {
        match self.text().await? {
            Some(text) => Ok(Some(serde_json::from_str(&text)?)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn events_are_read_however_they_are_cut() {
        let parts =
            [": alive\n\nevent: n\nda", "ta: 1\n", "\n", "data: 2\n\ndata:3\n\n", "data: 4"];
        let parts = parts.map(|part| Ok::<_, std::io::Error>(Bytes::from_static(part.as_bytes())));
        let mut read = Stream::<u8>::new(Body::from_stream(stream::iter(parts)));
        for wanted in [Some(1), Some(2), Some(3), None] {
            assert_eq!(read.next().await.expect("it reads"), wanted, "the last one is cut off");
        }
    }
}
