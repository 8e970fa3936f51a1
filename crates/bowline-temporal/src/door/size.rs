//! How large what a client sends for a history may be, in one place for all calls.

use crate::{
    limits::Sizes,
    log::Quoted,
    status::{self, Answer},
};

/// Refuses what is too large for its namespace, and tells of what nearly is.
///
/// What workers answer is not refused here: the attempt or turn that it answers fails by the rules.
pub(super) fn check(sizes: Sizes, namespace: &str, bytes: usize) -> Answer<()> {
    if bytes > sizes.refused {
        let most = sizes.refused;
        let why = format!("Blob data size exceeds limit: {bytes} bytes, and at most {most}.");
        return Err(status::invalid(why));
    }
    if bytes > sizes.told {
        tracing::warn!(namespace = %Quoted(namespace), bytes, "a call brings much for a history");
    }
    Ok(())
}
