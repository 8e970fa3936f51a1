//! What the demo tells: text for people, or one JSON object per fact.
//!
//! Colours are plain ANSI, and only where somebody sees them.

use std::{
    cell::RefCell,
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

pub(super) use crate::text::Look;
use crate::text::Paint;

/// How long people have to read what was told, before something happens to it.
const READING: Duration = Duration::from_millis(1_200);

/// Where everything is told.
pub(super) struct Teller {
    json: bool,
    has_colour: bool,
    began: Instant,
    out: RefCell<Box<dyn Write>>,
}

impl Teller {
    /// Tells the standard output.
    pub(super) fn new(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let has_colour = !json && !plain && io::stdout().is_terminal();
        Self { has_colour, ..Self::to(json, io::stdout()) }
    }

    /// Tells somebody else, without colours.
    pub(super) fn to(json: bool, out: impl Write + 'static) -> Self {
        let out = RefCell::new(Box::new(out));
        Self { json, has_colour: false, began: Instant::now(), out }
    }

    /// A piece of text in its colour, if there are colours.
    pub(super) fn paint(&self, look: Look, text: &str) -> String {
        Paint(self.has_colour).text(look, text)
    }

    /// Something for people only.
    pub(super) fn say(&self, text: &str) -> io::Result<()> {
        match self.json {
            true => Ok(()),
            false => self.line(text),
        }
    }

    /// The beginning of a part, for people only.
    pub(super) fn heading(&self, text: &str) -> io::Result<()> {
        self.say("")?;
        self.say(&self.paint(Look::Strong, text))
    }

    /// Lets people read.
    pub(super) async fn pause(&self) {
        if !self.json {
            tokio::time::sleep(READING).await;
        }
    }

    /// A fact of this moment: people see when it was told.
    pub(super) fn moment(&self, fact: &str, text: &str, more: Value) -> io::Result<()> {
        let at = format!("{:>6.2} s ", self.began.elapsed().as_secs_f64());
        self.fact(fact, &format!("{} {text}", self.paint(Look::Faint, &at)), more)
    }

    /// A fact.
    pub(super) fn fact(&self, fact: &str, text: &str, more: Value) -> io::Result<()> {
        match self.json {
            true => self.silent(fact, more),
            false => self.line(text),
        }
    }

    /// A fact for programs only: people were told in another way.
    pub(super) fn silent(&self, fact: &str, more: Value) -> io::Result<()> {
        if !self.json {
            return Ok(());
        }
        let mut object = json!({ "fact": fact, "at_ms": self.elapsed_ms() });
        if let (Some(all), Value::Object(more)) = (object.as_object_mut(), more) {
            all.extend(more);
        }
        self.line(&object.to_string())
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn line(&self, text: &str) -> io::Result<()> {
        let mut out = self.out.borrow_mut();
        out.write_all(format!("{text}\n").as_bytes())?;
        out.flush()
    }
}
