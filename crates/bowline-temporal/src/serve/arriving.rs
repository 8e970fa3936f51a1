//! What a call asks, while it arrives: not for ever, and not more than there is room for.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Sleep, sleep};
use tonic::{Status, body::Body, codegen::Body as HttpBody};

use super::Handover;

/// The body of a request.
pub(super) struct Arriving {
    pub(super) body: Body,
    pub(super) call: Handover,
    pub(super) patience: Duration,
    /// Until it must be there; none while it need not be waited for.
    pub(super) until: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for Arriving {
    type Data = <Body as HttpBody>::Data;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Self::Data>, Status>>> {
        match Pin::new(&mut self.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, prost::bytes::Bytes::len);
                Poll::Ready(Some(self.call.charge(bytes).map(|()| frame)))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Err(why))) => Poll::Ready(Some(Err(why))),
            Poll::Pending => {
                let patience = self.patience;
                let until = self.until.get_or_insert_with(|| Box::pin(sleep(patience)));
                match until.as_mut().poll(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(()) => {
                        let why = "what was asked did not arrive in time";
                        Poll::Ready(Some(Err(Status::deadline_exceeded(why))))
                    }
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}
