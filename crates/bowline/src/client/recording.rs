//! A history to be kept in a file, so that tomorrow's code can be held against it.

use std::{fmt, fs, io, path::Path};

use bowline_engine::core::{Event, EventKind, RunId, codec};

use super::ClientError;

/// The recorded history of a run: everything a replay needs. See
/// [`AnyRun::record`](super::AnyRun::record).
#[derive(Clone, PartialEq)]
pub struct Recording {
    run: RunId,
    events: Vec<Event>,
}

impl Recording {
    pub(crate) fn new(run: RunId, events: Vec<Event>) -> Self {
        Self { run, events }
    }

    /// The name of the workflow whose run this is.
    pub fn workflow(&self) -> &str {
        match self.events.first().map(|event| &event.kind) {
            Some(EventKind::WorkflowStarted(started)) => started.name.as_str(),
            _ => "",
        }
    }

    /// Writes it as bytes with a checksum; every later version of Bowline reads them.
    pub fn to_bytes(&self) -> Vec<u8> {
        codec::encode(&(self.run, &self.events))
    }

    /// Reads bytes that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// If they are damaged, or something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ClientError> {
        let decoded: Result<(RunId, Vec<Event>), _> = codec::decode(bytes);
        let (run, events) = decoded.map_err(|corrupt| {
            ClientError::Invalid(format!("this is not a recording of a run: {corrupt}"))
        })?;
        Ok(Self { run, events })
    }

    /// Writes it to a file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, self.to_bytes())
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or is something else.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        let bytes = fs::read(path)?;
        Self::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    #[cfg(feature = "test")]
    pub(crate) fn run(&self) -> RunId {
        self.run
    }

    #[cfg(feature = "test")]
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "run {} of {:?}", self.run, self.workflow())?;
        self.events.iter().try_for_each(|event| writeln!(f, "{event:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_bytes_are_refused() {
        let mut bytes = Recording::new(RunId::default(), Vec::new()).to_bytes();
        assert_eq!(Recording::from_bytes(&bytes).unwrap().workflow(), "");
        *bytes.last_mut().unwrap() ^= 1;
        let error = Recording::from_bytes(&bytes).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
    }
}
