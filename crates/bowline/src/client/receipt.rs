//! The receipt of a cancel.

use bowline_engine::{core::ReceiptId, store::Phase};

use super::{Bowline, CancelTree, ClientError};

/// The receipt of a cancel: it tells how far the cancel has come, for as long as it is kept.
#[derive(Clone, Debug)]
pub struct Receipt {
    bowline: Bowline,
    id: ReceiptId,
}

impl Receipt {
    pub(crate) fn new(bowline: Bowline, id: ReceiptId) -> Self {
        Self { bowline, id }
    }

    /// Its id, by which [`Bowline::receipt`] finds it again.
    pub fn id(&self) -> String {
        self.id.to_string()
    }

    /// Waits until the cancel has come so far, everywhere in the tree of the run. A later phase
    /// implies the earlier ones; [`Phase::Clean`] is the proof that nothing is left running.
    ///
    /// That proof may never come: for code that did not stop and was given up, or a child that was
    /// left alone. Where that can be, wait for [`Phase::Settled`] and look at
    /// [`CancelTree::remainder`].
    ///
    /// # Errors
    /// If the receipt has expired.
    pub async fn wait(&self, phase: Phase) -> Result<CancelTree, ClientError> {
        Ok(CancelTree::new(self.bowline.engine().wait(self.id, phase).await?))
    }

    /// How far the cancel has come by now.
    ///
    /// # Errors
    /// If the receipt has expired.
    pub async fn tree(&self) -> Result<CancelTree, ClientError> {
        Ok(CancelTree::new(self.bowline.engine().receipt(self.id).await?))
    }
}
