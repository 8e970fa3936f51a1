//! When a run on a schedule is started next. The engine keeps to it; a door that lets its clients
//! write schedules brings what reads them.

use bowline_core::Time;

/// Reads schedules.
pub trait Schedules: Send + Sync + 'static {
    /// The first moment after `after` at which this schedule starts a run; none if there is none.
    /// What comes every so often is counted from `since`.
    ///
    /// # Errors
    /// Says what about it does not read.
    fn next(&self, schedule: &str, since: Time, after: Time) -> Result<Option<Time>, String>;
}
