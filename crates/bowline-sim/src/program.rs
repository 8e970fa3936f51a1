//! Programs: what a workflow does, as a tree. One workflow interprets them all.
//!
//! Every node has a number of its own, which it keeps when others are cut away.

pub(crate) mod activity;
pub(crate) mod code;
pub(crate) mod make;
pub(crate) mod notes;

use std::fmt;

/// A part of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// What it does.
    pub what: What,
}

/// What a part of a program does. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum What {
    /// Nothing.
    Nothing,
    /// Starts it and waits for its end; a failure fails the part around.
    Await(Leaf),
    /// Starts it and goes on; it is dropped when the sequence around ends.
    Start(Leaf),
    /// Starts it and lets it go.
    Detach(Leaf),
    /// Starts it, cancels it, waits for its end.
    Cancel(Leaf),
    /// Waits for a signal.
    Signal,
    /// Waits for an update and answers it.
    Update,
    /// Fails.
    Fail,
    /// One after the other.
    Sequence(Vec<Node>),
    /// All beside each other, to their ends.
    Join(Vec<Node>),
    /// All beside each other, until one fails.
    TryJoin(Vec<Node>),
    /// The first wins.
    Race(Vec<Node>),
    /// A scope.
    Scope {
        /// What is inside.
        body: Box<Node>,
        /// When it is to be over.
        deadline: Option<u64>,
        /// What is done after it stopped.
        cleanup: Option<Cleanup>,
    },
    /// Finished, even if nobody waits.
    Shield(Box<Node>),
    /// Goes on as a new run, which does this.
    Continue(Box<Node>),
    /// Holds a guard that asks for something when it is dropped.
    Guard(Box<Node>),
    /// Waits for something that is in no history, and wakes the run from elsewhere.
    Foreign,
    /// Starts activities in an order that is another one in every process.
    Shuffle(Vec<Node>),
    /// Some builds of the code do something more before this.
    Drift(Box<Node>),
}

/// What is done after a scope stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Cleanup {
    /// Refunds every activity that had completed.
    Refund,
    /// Does something of its own.
    Run(Box<Node>),
}

/// Something durable that a program starts.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf {
    /// An activity.
    Activity(Act),
    /// A timer.
    Timer(u64),
    /// A child that does this.
    Child {
        /// What it does.
        node: Box<Node>,
        /// What becomes of it when its parent closes.
        close: Close,
        /// Whether it is tried again when it fails.
        retries: bool,
    },
}

/// What becomes of a child when its parent closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// It is asked to cancel.
    Cancel,
    /// It is terminated.
    Terminate,
    /// It lives on.
    Abandon,
}

/// What the code of an activity does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Under which of the registered names.
    pub name: u8,
    /// How long it works, if nobody stops it.
    pub work: u64,
    /// What it does when it is told to stop.
    pub hears: Hears,
    /// How many attempts fail.
    pub fails: u32,
    /// How often it says that it is alive.
    pub beats: Option<u64>,
    /// Something that it runs beside, for so long.
    pub spawns: Option<u64>,
    /// How long it has after it was told.
    pub grace: u64,
    /// How long an attempt may take.
    pub limit: Option<u64>,
    /// A remote worker does it.
    pub far: bool,
}

/// What the code of an activity does when it is told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hears {
    /// It stops at once.
    Obeys,
    /// It does not look.
    Deaf,
    /// It succeeds, after so long.
    Late(u64),
    /// It stops, after so long.
    Slow(u64),
}

impl Act {
    /// Quick, and stops at once.
    pub const PLAIN: Self = Self {
        name: 0,
        work: 20,
        hears: Hears::Obeys,
        fails: 0,
        beats: None,
        spawns: None,
        grace: 2_000,
        limit: None,
        far: false,
    };
}

impl Node {
    /// The parts right below, those that other runs do included.
    pub fn parts(&self) -> Vec<&Self> {
        match &self.what {
            What::Sequence(parts)
            | What::Join(parts)
            | What::TryJoin(parts)
            | What::Shuffle(parts)
            | What::Race(parts) => parts.iter().collect(),
            What::Scope { body, cleanup: Some(Cleanup::Run(after)), .. } => vec![body, after],
            What::Scope { body, .. }
            | What::Shield(body)
            | What::Continue(body)
            | What::Drift(body)
            | What::Guard(body) => vec![body],
            What::Await(leaf) | What::Start(leaf) | What::Detach(leaf) | What::Cancel(leaf) => {
                match leaf {
                    Leaf::Child { node, .. } => vec![node],
                    _ => Vec::new(),
                }
            }
            What::Nothing | What::Signal | What::Update | What::Fail | What::Foreign => Vec::new(),
        }
    }

    fn parts_mut(&mut self) -> Vec<&mut Self> {
        match &mut self.what {
            What::Sequence(parts)
            | What::Join(parts)
            | What::TryJoin(parts)
            | What::Shuffle(parts)
            | What::Race(parts) => parts.iter_mut().collect(),
            What::Scope { body, cleanup: Some(Cleanup::Run(after)), .. } => vec![body, after],
            What::Scope { body, .. }
            | What::Shield(body)
            | What::Continue(body)
            | What::Drift(body)
            | What::Guard(body) => vec![body],
            What::Await(leaf) | What::Start(leaf) | What::Detach(leaf) | What::Cancel(leaf) => {
                match leaf {
                    Leaf::Child { node, .. } => vec![node],
                    _ => Vec::new(),
                }
            }
            What::Nothing | What::Signal | What::Update | What::Fail | What::Foreign => Vec::new(),
        }
    }

    /// The part of this number.
    pub fn find(&self, id: u32) -> Option<&Self> {
        if self.id == id {
            return Some(self);
        }
        self.parts().into_iter().find_map(|part| part.find(id))
    }

    /// The same, to be changed.
    pub fn find_mut(&mut self, id: u32) -> Option<&mut Self> {
        if self.id == id {
            return Some(self);
        }
        self.parts_mut().into_iter().find_map(|part| part.find_mut(id))
    }

    /// The activity that this part starts.
    pub fn act(&self) -> Option<&Act> {
        match &self.what {
            What::Await(Leaf::Activity(act))
            | What::Start(Leaf::Activity(act))
            | What::Detach(Leaf::Activity(act))
            | What::Cancel(Leaf::Activity(act)) => Some(act),
            _ => None,
        }
    }

    /// Whether this part, or one below it, is of a kind.
    pub fn has(&self, kind: fn(&What) -> bool) -> bool {
        kind(&self.what) || self.parts().into_iter().any(|part| part.has(kind))
    }

    /// The numbers of this part and of all below it.
    pub fn ids(&self) -> Vec<u32> {
        let below = self.parts().into_iter().flat_map(|part| part.ids());
        [self.id].into_iter().chain(below).collect()
    }

    fn tell(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "{:indent$}{}: {}", "", self.id, self.label(), indent = depth * 2)?;
        for part in self.parts() {
            writeln!(f)?;
            part.tell(f, depth + 1)?;
        }
        Ok(())
    }

    fn label(&self) -> String {
        match &self.what {
            What::Await(leaf) => format!("await {leaf}"),
            What::Start(leaf) => format!("start {leaf}"),
            What::Detach(leaf) => format!("detach {leaf}"),
            What::Cancel(leaf) => format!("start, cancel and await {leaf}"),
            What::Nothing => "nothing".to_owned(),
            What::Signal => "receive a signal".to_owned(),
            What::Update => "receive an update".to_owned(),
            What::Fail => "fail".to_owned(),
            What::Sequence(_) => "in sequence".to_owned(),
            What::Join(_) => "join".to_owned(),
            What::TryJoin(_) => "try to join".to_owned(),
            What::Race(_) => "race".to_owned(),
            What::Scope { deadline, cleanup, .. } => {
                let deadline = deadline.map_or(String::new(), |ms| format!(", deadline {ms} ms"));
                let cleanup = match cleanup {
                    None => "",
                    Some(Cleanup::Refund) => ", then refund what completed",
                    Some(Cleanup::Run(_)) => ", then clean up (the last part below)",
                };
                format!("scope{deadline}{cleanup}")
            }
            What::Shield(_) => "shield".to_owned(),
            What::Continue(_) => "continue as new".to_owned(),
            What::Guard(_) => "hold a guard".to_owned(),
            What::Foreign => "wait for something outside of history".to_owned(),
            What::Shuffle(_) => "start in the order of the process, and await".to_owned(),
            What::Drift(_) => "something more, in some builds; then".to_owned(),
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tell(f, 2)
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Activity(act) => write!(f, "{act}"),
            Self::Timer(ms) => write!(f, "a timer of {ms} ms"),
            Self::Child { close, retries, .. } => {
                let again = if *retries { ", tried again" } else { "" };
                write!(f, "a child (on close: {close:?}{again})")
            }
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "activity act{} of {} ms, {:?}", self.name, self.work, self.hears)?;
        if self.fails > 0 {
            write!(f, ", fails {} times", self.fails)?;
        }
        if let Some(ms) = self.beats {
            write!(f, ", beats every {ms} ms")?;
        }
        if let Some(ms) = self.spawns {
            write!(f, ", something beside for {ms} ms")?;
        }
        if let Some(ms) = self.limit {
            write!(f, ", limit {ms} ms")?;
        }
        write!(f, ", grace {} ms", self.grace)
    }
}
