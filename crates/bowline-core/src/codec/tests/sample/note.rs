//! One note of every kind.

use super::*;

/// The name of a note. A new kind does not compile until it has one, and then has no golden file.
pub(crate) fn name(note: &Note) -> &'static str {
    match note {
        Note::Cancels(_) => "Cancels",
        Note::Scopes(_) => "Scopes",
        Note::Cause(_) => "Cause",
        Note::Skipped(_) => "Skipped",
        Note::Rung(_) => "Rung",
        Note::Outstanding(_) => "Outstanding",
        Note::CancelledOne(..) => "CancelledOne",
        Note::Detached(_) => "Detached",
        Note::RefusedUpdates(_) => "RefusedUpdates",
        Note::Hastened(_) => "Hastened",
        Note::Received(_) => "Received",
    }
}

/// Every name above.
pub(crate) const NAMES: [&str; 11] = [
    "Cancels",
    "Scopes",
    "Cause",
    "Skipped",
    "Rung",
    "Outstanding",
    "CancelledOne",
    "Detached",
    "RefusedUpdates",
    "Hastened",
    "Received",
];

pub(crate) fn notes() -> Vec<Note> {
    let decision =
        |what, n| Decision { scope: ScopeId(n), what, targets: ranges(), cause: cause() };
    let outstanding = Outstanding {
        activities: ranges(),
        timers: Ranges::from(id(11)),
        children: Ranges::from(id(12)),
        left: Ranges::from(id(13)),
        cause: Some(cause()),
        closing: id(14),
        inherited: Some(Ranges::from(id(13))),
    };
    vec![
        Note::Cancels(vec![
            decision(Cancelled::Activities, 0),
            decision(Cancelled::Timers, 1),
            decision(Cancelled::Children, 2),
        ]),
        Note::Scopes(vec![
            ScopeStep::Opened { scope: ScopeId(2), parent: ScopeId(1), name: "pay".into() },
            ScopeStep::Left { scope: ScopeId(2), cause: Some(cause()) },
            ScopeStep::Left { scope: ScopeId(1), cause: None },
        ]),
        Note::Cause(cause()),
        Note::Skipped(ranges()),
        Note::Rung(Rung::Abandon),
        Note::Outstanding(outstanding),
        Note::CancelledOne(id(5), cause()),
        Note::Detached(ranges()),
        Note::RefusedUpdates(vec!["u".into(), "v".into()]),
        Note::Hastened(pushed()),
        Note::Received(ranges()),
    ]
}
