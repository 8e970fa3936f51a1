//! Mended defects that the simulator puts back, one at a time, to see that it finds them.
//!
//! Without the feature `planted`, which nothing that people use turns on, there is never one.

/// A mended defect. Where it was mended, one line puts it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// A deadline that rings after the body has succeeded throws its value away.
    DeadlineAfterValue,
    /// The scope around a shield does not hear of what completed inside it.
    ShieldOutside,
    /// Going on as a new run from a shield or a clean-up waits for ever.
    ContinueHangs,
    /// A guard that asks for something when it is dropped outside of a turn panics.
    GuardPanics,
    /// The end of an attempt overtakes what was acknowledged before it.
    EndOvertakes,
    /// A receipt does not look at earlier runs of its chain.
    ChainForward,
    /// Default ids of children repeat in every run of a chain.
    ChildIds,
    /// Attempts begin between the cancel of a run and its decision.
    BeginsUndecided,
}

impl Defect {
    /// Every defect.
    pub const ALL: &[Self] = &[
        Self::DeadlineAfterValue,
        Self::ShieldOutside,
        Self::ContinueHangs,
        Self::GuardPanics,
        Self::EndOvertakes,
        Self::ChainForward,
        Self::ChildIds,
        Self::BeginsUndecided,
    ];

    /// What it is called on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeadlineAfterValue => "deadline-after-value",
            Self::ShieldOutside => "shield-outside",
            Self::ContinueHangs => "continue-hangs",
            Self::GuardPanics => "guard-panics",
            Self::EndOvertakes => "end-overtakes",
            Self::ChainForward => "chain-forward",
            Self::ChildIds => "child-ids",
            Self::BeginsUndecided => "begins-undecided",
        }
    }
}

#[cfg(feature = "planted")]
static PLANTED: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(u8::MAX);

/// Puts a defect back, or none, for the whole process.
#[cfg(feature = "planted")]
pub fn plant(defect: Option<Defect>) {
    let number = defect.map_or(u8::MAX, |defect| defect as u8);
    PLANTED.store(number, std::sync::atomic::Ordering::SeqCst);
}

/// Whether a defect was put back.
#[cfg(feature = "planted")]
pub fn planted(defect: Defect) -> bool {
    PLANTED.load(std::sync::atomic::Ordering::Relaxed) == defect as u8
}

/// Whether a defect was put back: never.
#[cfg(not(feature = "planted"))]
pub const fn planted(_: Defect) -> bool {
    false
}
