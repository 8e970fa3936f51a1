//! Name to code: what this worker can run.

use std::{collections::BTreeMap, error, fmt, pin::Pin, sync::Arc};

use bowline_core::{Failure, Name, Payload, limits};
use bowline_replay::Workflow;

use super::activity::ActivityContext;

/// What an activity's code ends with.
pub type Answer = Result<Option<Payload>, Failure>;

/// The code of an activity, without its types: payloads in, payloads out.
pub trait ActivityCode: Send + Sync {
    /// One attempt. The future is dropped if the attempt is aborted.
    fn call(
        &self,
        ctx: ActivityContext,
        input: Option<Payload>,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send>>;
}

/// A closure as the code of an activity.
pub fn activity_fn<F, Fut>(code: F) -> Arc<dyn ActivityCode>
where
    F: Fn(ActivityContext, Option<Payload>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Answer> + Send + 'static,
{
    Arc::new(Closure(code))
}

struct Closure<F>(F);

impl<F, Fut> ActivityCode for Closure<F>
where
    F: Fn(ActivityContext, Option<Payload>) -> Fut + Send + Sync,
    Fut: Future<Output = Answer> + Send + 'static,
{
    fn call(
        &self,
        ctx: ActivityContext,
        input: Option<Payload>,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send>> {
        Box::pin(self.0(ctx, input))
    }
}

/// The activities that a worker can run.
#[derive(Clone, Default)]
pub struct Activities {
    by_name: BTreeMap<Name, Arc<dyn ActivityCode>>,
}

impl Activities {
    /// Adds code under a name.
    ///
    /// # Errors
    /// If the name is taken, empty or too long.
    pub fn register(&mut self, name: Name, code: Arc<dyn ActivityCode>) -> Result<(), BadName> {
        insert(&mut self.by_name, name, code)
    }

    /// The code of that name.
    pub fn find(&self, name: &Name) -> Option<Arc<dyn ActivityCode>> {
        self.by_name.get(name).cloned()
    }

    /// Every name, in order: what claims are filtered by.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.by_name.keys()
    }
}

/// The workflows that a worker can run.
#[derive(Clone, Default)]
pub struct Workflows {
    by_name: BTreeMap<Name, Arc<dyn Workflow>>,
}

impl Workflows {
    /// Adds code under a name.
    ///
    /// # Errors
    /// If the name is taken, empty or too long.
    pub fn register(&mut self, name: Name, code: Arc<dyn Workflow>) -> Result<(), BadName> {
        insert(&mut self.by_name, name, code)
    }

    /// The code of that name.
    pub fn find(&self, name: &Name) -> Option<Arc<dyn Workflow>> {
        self.by_name.get(name).cloned()
    }

    /// Every name, in order: what claims are filtered by.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.by_name.keys()
    }
}

fn insert<T>(by_name: &mut BTreeMap<Name, T>, name: Name, code: T) -> Result<(), BadName> {
    if name.is_empty() {
        return Err(BadName::Empty);
    }
    if name.as_str().len() > limits::TEXT_MAX {
        return Err(BadName::TooLong(name));
    }
    if by_name.contains_key(&name) {
        return Err(BadName::Taken(name));
    }
    by_name.insert(name, code);
    Ok(())
}

impl fmt::Debug for Workflows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl fmt::Debug for Activities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

/// Why code cannot be registered under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadName {
    /// Other code has it.
    Taken(Name),
    /// It has more than [`limits::TEXT_MAX`] bytes.
    TooLong(Name),
    /// It says nothing.
    Empty,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(name) => write!(f, "two functions are registered as {name:?}"),
            Self::TooLong(name) => {
                let (length, most) = (name.as_str().len(), limits::TEXT_MAX);
                write!(f, "a name has {length} bytes, and {most} is the most")
            }
            Self::Empty => f.write_str("a function is registered without a name"),
        }
    }
}

impl error::Error for BadName {}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Arc<dyn ActivityCode> {
        activity_fn(|_, _| async { Ok(None) })
    }

    #[test]
    fn what_is_registered_is_found_under_its_name_alone() {
        let mut activities = Activities::default();
        activities.register("charge".into(), nothing()).unwrap();
        activities.register("book".into(), nothing()).unwrap();
        assert!(activities.find(&"charge".into()).is_some());
        assert!(activities.find(&"refund".into()).is_none());
        assert_eq!(format!("{activities:?}"), r#"{"book", "charge"}"#);
    }

    #[test]
    fn bad_names_are_refused_and_change_nothing() {
        let mut activities = Activities::default();
        activities.register("charge".into(), nothing()).unwrap();
        let taken = activities.register("charge".into(), nothing());
        assert_eq!(taken, Err(BadName::Taken("charge".into())));
        assert_eq!(activities.register("".into(), nothing()), Err(BadName::Empty));
        let long = "x".repeat(limits::TEXT_MAX + 1);
        let refused = activities.register(long.into(), nothing()).unwrap_err();
        assert_eq!(refused.to_string(), "a name has 1001 bytes, and 1000 is the most");
        assert_eq!(activities.names().count(), 1);
    }
}
