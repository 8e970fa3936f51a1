//! Changed code and runs that began before the change.

use bowline_core::{Blob, Command, Fields, Format, Name, Payload, RecordMarker};

use crate::Context;

/// The name of the markers that [`Context::patched`] records.
pub const PATCH: &str = "patch";

/// Under which key a marker holds the patch's own name.
const KEY: &str = "id";

impl Context {
    /// True if this run is on the new side of a change. A run that first comes here live is, and
    /// remembers it with a marker; one that has come past here before the change is not, and
    /// stays on the old side. The answer to one name never changes in a run.
    ///
    /// When no run is on the old side any more, the call may be removed: a marker that nobody
    /// asks for is passed over.
    pub fn patched(&self, patch: &str) -> bool {
        self.with(|run| {
            let may_ask = run.may_ask();
            if let Some(known) = run.patches.get(patch) {
                return *known;
            }
            if !may_ask {
                return true;
            }
            let says = run.asking.says_patch(patch);
            run.patches.insert(patch.to_owned(), says);
            if says {
                run.ask(Command::RecordMarker(Box::new(marker(patch))));
            }
            says
        })
    }
}

fn marker(patch: &str) -> RecordMarker {
    let bytes = Blob::from(patch.as_bytes());
    let details = Fields::from([(KEY.to_owned(), Payload { format: Format::Bytes, bytes })]);
    RecordMarker { name: Name::from(PATCH), details, ..RecordMarker::default() }
}

/// The patch that a marker stands for, if it stands for one.
pub(crate) fn patch_of(name: &Name, details: &Fields) -> Option<String> {
    let payload = details.get(KEY).filter(|_| name.as_str() == PATCH)?;
    std::str::from_utf8(payload.bytes.as_slice()).ok().map(str::to_owned)
}
