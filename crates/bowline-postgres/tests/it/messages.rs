//! As much of the database's protocol as it takes to know when a change is on its way.

use std::{collections::BTreeSet, io::Read};

/// What a client says, message by message.
#[derive(Default)]
pub(crate) struct Messages {
    begun: bool,
    /// Names of prepared statements that change rows.
    changes: BTreeSet<Vec<u8>>,
    /// Names of prepared statements that notify others.
    notes: BTreeSet<Vec<u8>>,
}

impl Messages {
    pub(crate) fn next(&mut self, from: &mut impl Read) -> Option<Vec<u8>> {
        // The first message has no kind.
        let head = if self.begun { 5 } else { 4 };
        self.begun = true;
        let mut message = vec![0; head];
        from.read_exact(&mut message).ok()?;
        let length = message.last_chunk::<4>().expect("it is longer");
        let rest = (u32::from_be_bytes(*length) as usize).checked_sub(4)?;
        message.resize(head + rest, 0);
        from.read_exact(&mut message[head..]).ok()?;
        Some(message)
    }

    /// Whether a message has the server change rows; remembers what was prepared to do so.
    pub(crate) fn is_change(&mut self, message: &[u8]) -> bool {
        let mut texts = message.get(5..).unwrap_or_default().split(|byte| *byte == 0);
        let (first, second) = (texts.next(), texts.next());
        match message[0] {
            b'P' => {
                let sql = String::from_utf8_lossy(second.unwrap_or_default()).into_owned();
                // What groups write, what claims take, and who enters.
                let parts = ["fence AS MATERIALIZED", "picked AS MATERIALIZED", ".members (epoch"];
                if parts.iter().any(|part| sql.contains(part)) {
                    self.changes.insert(first.unwrap_or_default().to_vec());
                }
                if sql.contains("pg_notify") {
                    self.notes.insert(first.unwrap_or_default().to_vec());
                }
                false
            }
            b'B' => self.changes.contains(second.unwrap_or_default()),
            b'Q' => first.is_some_and(|sql| sql.starts_with(b"COMMIT")),
            _ => false,
        }
    }

    /// Whether a message has the server notify others of something.
    pub(crate) fn is_note(&self, message: &[u8]) -> bool {
        let mut texts = message.get(5..).unwrap_or_default().split(|byte| *byte == 0);
        let named = texts.nth(1).unwrap_or_default();
        message[0] == b'B' && self.notes.contains(named)
    }
}
