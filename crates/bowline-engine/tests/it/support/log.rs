//! Hears what the engine logs, line by line.
//!
//! One listener for the whole program, there before the first line: listeners that come and go
//! while other threads log miss lines now and then.

use std::{cell::RefCell, fmt::Write, sync::Once};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{Interest, set_global_default},
};

thread_local! {
    static LINES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Puts the listener in its place.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| set_global_default(Listener).expect("nobody else listens"));
}

/// From here on everything that this thread logs is kept.
pub(crate) fn listen() {
    install();
    LINES.with(|lines| *lines.borrow_mut() = Some(Vec::new()));
}

/// What this thread has logged since, as `LEVEL message field=value …`.
pub(crate) fn lines() -> Vec<String> {
    LINES.with(|lines| lines.borrow().clone()).expect("somebody listened")
}

struct Listener;

impl Subscriber for Listener {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let is_ours = metadata.target().starts_with("bowline");
        is_ours && LINES.with(|lines| lines.borrow().is_some())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let line = format!("{} {}{}", event.metadata().level(), line.message, line.fields);
        LINES.with(|lines| {
            if let Some(lines) = lines.borrow_mut().as_mut() {
                lines.push(line);
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        } else {
            write!(self.fields, " {}={value:?}", field.name()).expect("a text takes everything");
        }
    }
}
