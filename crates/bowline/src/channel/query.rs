//! Queries: a value that a workflow shows to those who ask.

use std::{
    cell::{Ref, RefCell},
    marker::PhantomData,
    rc::Rc,
};

/// The name and type of a query: `const STATUS: Query<Status> = Query::new("status");`
pub struct Query<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> Query<T> {
    /// The query of that name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl<T> Clone for Query<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Query<T> {}

/// The value that a query is answered with; see [`Ctx::expose`](crate::Ctx::expose). Clones are the
/// same. If you drop it, the last value stays.
pub struct Exposed<T>(Rc<RefCell<T>>);

impl<T> Exposed<T> {
    pub(crate) fn new(value: T) -> (Rc<RefCell<T>>, Self) {
        let shown = Rc::new(RefCell::new(value));
        (shown.clone(), Self(shown))
    }

    /// Shows this value from now on.
    pub fn set(&self, value: T) {
        self.0.replace(value);
    }

    /// Changes the value that is shown.
    pub fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.0.borrow_mut());
    }

    /// Borrows the value that is shown.
    pub fn read(&self) -> Ref<'_, T> {
        self.0.borrow()
    }
}

impl<T> Clone for Exposed<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
