//! Words about other processes that have the store open.

use bowline_core::Identity;
use bowline_store::{Attested, Whom, Witness};

use super::Engine;
use crate::{Error, Result};

impl Engine {
    /// Says that processes are gone which had fallen silent: a host that will not come back, a
    /// process that somebody has ended. What nobody saw end there counts as over, and receipts say
    /// who said so. A process that is in touch is not believed to be gone.
    ///
    /// # Errors
    /// If nobody is named as who says so, or the store fails.
    pub async fn member_gone(&self, whom: Whom, by: impl Into<Identity>) -> Result<Attested> {
        let by = by.into();
        if by.is_empty() {
            return Err(Error::Invalid("say who says that it is gone".into()));
        }
        self.inner.attest(whom, Witness::Person(by)).await
    }
}
