//! What a process writes, read to its end on a thread of its own, up to a bound.

use std::{
    io::{self, Read},
    sync::Arc,
    thread,
};

use tokio::sync::oneshot;

use super::Group;

/// How many bytes of a process's output are kept, per pipe.
pub const OUTPUT_MAX: u64 = 16 * 1024 * 1024;

/// What is being read.
pub(super) struct PipeReader(Option<oneshot::Receiver<io::Result<Vec<u8>>>>);

impl PipeReader {
    /// Everything that was written.
    pub(super) async fn bytes(self) -> io::Result<Vec<u8>> {
        let Some(receiver) = self.0 else { return Ok(Vec::new()) };
        receiver.await.unwrap_or_else(|_| Err(io::Error::other("the reader is gone")))
    }
}

/// Reads a pipe, if there is one. Whoever writes too much is killed.
pub(super) fn read<R>(pipe: Option<R>, group: &Arc<Group>) -> io::Result<PipeReader>
where
    R: Read + Send + 'static,
{
    let Some(pipe) = pipe else { return Ok(PipeReader(None)) };
    let (sender, receiver) = oneshot::channel();
    let group = Arc::clone(group);
    let work = move || {
        let mut bytes = Vec::new();
        let read = pipe.take(OUTPUT_MAX + 1).read_to_end(&mut bytes);
        let end = match read {
            Ok(count) if u64::try_from(count).is_ok_and(|count| count > OUTPUT_MAX) => {
                group.kill();
                Err(io::Error::other(format!("it wrote more than {OUTPUT_MAX} bytes: killed")))
            }
            Ok(_) => Ok(bytes),
            Err(error) => Err(error),
        };
        // Nobody may be waiting.
        let _ = sender.send(end);
    };
    thread::Builder::new().name("bowline-output".to_owned()).spawn(work)?;
    Ok(PipeReader(Some(receiver)))
}
