//! The receipt of a cancel.

use bowline_engine::{core::ReceiptId, store::Phase};

use super::{Bowline, CancelTree, ClientError};

/// The receipt of a cancel. It tells you how far the cancel has come, for as long as it is kept.
#[derive(Clone, Debug)]
pub struct Receipt {
    bowline: Bowline,
    id: ReceiptId,
}

impl Receipt {
    pub(crate) fn new(bowline: Bowline, id: ReceiptId) -> Self {
        Self { bowline, id }
    }

    /// Returns its id; [`Bowline::receipt`] finds it again by that.
    pub fn id(&self) -> String {
        self.id.to_string()
    }

    /// Waits until the cancel has come this far, everywhere in the tree of the run. A later phase
    /// implies the earlier ones; [`Phase::Clean`] proves that nothing is left running.
    ///
    /// That proof may never come, for example because code did not stop and was given up, or a
    /// child was left alone on purpose. If that can happen, wait for [`Phase::Settled`] and look at
    /// [`CancelTree::remainder`].
    ///
    /// # Errors
    /// If the receipt has expired.
    pub async fn wait(&self, phase: Phase) -> Result<CancelTree, ClientError> {
        Ok(CancelTree::new(self.bowline.engine().wait(self.id, phase).await?))
    }

    /// Returns how far the cancel has come by now.
    ///
    /// # Errors
    /// If the receipt has expired.
    pub async fn tree(&self) -> Result<CancelTree, ClientError> {
        Ok(CancelTree::new(self.bowline.engine().receipt(self.id).await?))
    }
}
