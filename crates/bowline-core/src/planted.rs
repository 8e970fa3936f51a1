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
    /// An attempt that nobody saw end is forgotten when its activity is tried again.
    UnseenForgotten,
    /// What waits for another attempt when it is cancelled counts as never started.
    NeverStarted,
    /// Of an attempt that died with its process it is said that it was told, and killed.
    KilledUntold,
    /// What runs is named only after the cancel was decided.
    RemainderLate,
    /// A retry and a schedule leave unread signals behind.
    SignalsDropped,
    /// A walk that was cut still says clean.
    CutWalk,
    /// Nothing of a chain is forgotten while any run of it is open.
    ChainKept,
    /// The ladder of a run is armed by a turn, not by the request.
    ParkedLadder,
    /// A run that one process could not go on with is tried by no other.
    ParkedForGood,
    /// A termination is answered before its run is closed.
    TerminatedEarly,
    /// A run that is woken by what no history has hangs in silence.
    ForeignWaker,
    /// A call that is given something else than history says goes unnoticed.
    OtherInput,
    /// A process that has been out of contact for a lease goes on.
    LeaseIgnored,
    /// A run that one of several processes cannot go on with is taken up by no other.
    MixedBuilds,
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
        Self::UnseenForgotten,
        Self::NeverStarted,
        Self::KilledUntold,
        Self::RemainderLate,
        Self::SignalsDropped,
        Self::CutWalk,
        Self::ChainKept,
        Self::ParkedLadder,
        Self::ParkedForGood,
        Self::TerminatedEarly,
        Self::ForeignWaker,
        Self::OtherInput,
        Self::LeaseIgnored,
        Self::MixedBuilds,
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
            Self::UnseenForgotten => "unseen-forgotten",
            Self::NeverStarted => "never-started",
            Self::KilledUntold => "killed-untold",
            Self::RemainderLate => "remainder-late",
            Self::SignalsDropped => "signals-dropped",
            Self::CutWalk => "cut-walk",
            Self::ChainKept => "chain-kept",
            Self::ParkedLadder => "parked-ladder",
            Self::ParkedForGood => "parked-for-good",
            Self::TerminatedEarly => "terminated-early",
            Self::ForeignWaker => "foreign-waker",
            Self::OtherInput => "other-input",
            Self::LeaseIgnored => "lease-ignored",
            Self::MixedBuilds => "mixed-builds",
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
