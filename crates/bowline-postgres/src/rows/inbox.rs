//! Messages that nobody has consumed yet.

use std::collections::BTreeSet;

use bowline_core::{Message, Number, Received, RunId, Time};

use crate::{
    connection::db::{Db, Outcome},
    rows::blob::{self, count, int, number},
    write::tx::Tx,
};

/// What a group does to an inbox.
#[derive(Default)]
pub(crate) struct Mail {
    /// Everything up to this number is consumed.
    pub(crate) upto: Number,
    /// Single later messages that are dropped.
    pub(crate) dropped: BTreeSet<Number>,
    /// What is new.
    pub(crate) added: Vec<Letter>,
}

/// A new message.
pub(crate) struct Letter {
    pub(crate) number: Number,
    pub(crate) at: Time,
    pub(crate) request: Option<String>,
    pub(crate) message: Message,
    pub(crate) bytes: Vec<u8>,
}

impl Mail {
    pub(crate) fn add(&mut self, number: Number, at: Time, message: &Message) {
        self.added.push(Letter {
            number,
            at,
            request: message.request(),
            message: message.clone(),
            bytes: Tx::encode(message),
        });
    }

    pub(crate) fn consume(&mut self, upto: Number) {
        self.upto = self.upto.max(upto);
        self.added.retain(|letter| letter.number > upto);
        self.dropped.retain(|number| *number > upto);
    }

    pub(crate) fn forget(&mut self, number: Number) {
        let before = self.added.len();
        self.added.retain(|letter| letter.number != number);
        if self.added.len() == before && number > self.upto {
            self.dropped.insert(number);
        }
    }

    fn is_gone(&self, number: Number) -> bool {
        number <= self.upto || self.dropped.contains(&number)
    }
}

impl Tx<'_> {
    /// The oldest unread messages of a run that was found before, after a number.
    pub(crate) async fn unread(
        &mut self,
        id: RunId,
        after: Number,
        limit: usize,
    ) -> Outcome<Vec<Received>> {
        let nothing = Mail::default();
        let inbox = self.run(id).head.inbox;
        let mail = self.mail.get(&id).unwrap_or(&nothing);
        let after = after.max(mail.upto);
        let first_new = mail.added.first().map_or(Number(inbox.0 + 1), |letter| letter.number);
        let mut unread = Vec::new();
        if first_new.0 > after.0 + 1 {
            let rows = limit.saturating_add(mail.dropped.len());
            let stored = stored(self.db, id, after, rows).await?;
            unread.extend(stored.into_iter().filter(|received| !mail.is_gone(received.number)));
        }
        let new = mail.added.iter().filter(|letter| letter.number > after);
        unread.extend(new.map(|letter| Received {
            number: letter.number,
            at: letter.at,
            message: letter.message.clone(),
        }));
        unread.truncate(limit);
        Ok(unread)
    }

    /// Whether a run that was found before may take a message.
    pub(crate) async fn admit(&mut self, id: RunId, message: &Message) -> Outcome<()> {
        let bytes = match self.run(id).head.must_weigh(message) {
            Some(_) => self.weight(id).await?,
            None => 0,
        };
        Ok(self.run(id).head.admit(message, bytes)?)
    }

    /// How many bytes wait for a run that was found before.
    async fn weight(&self, id: RunId) -> Outcome<u64> {
        let nothing = Mail::default();
        let mail = self.mail.get(&id).unwrap_or(&nothing);
        let sql = "SELECT coalesce(sum(length(bytes)), 0)::int8 FROM @inbox \
                   WHERE namespace = $1 AND run = $2 AND number > $3";
        let values: [crate::connection::db::Value<'_>; 3] =
            [&blob::space(id), &blob::uuid(id), &int(mail.upto.0)];
        let rows = self.db.rows(sql, &values).await?;
        let stored = rows.first().map(|row| number(row, 0)).transpose()?.unwrap_or(0);
        Ok(stored + mail.added.iter().map(|letter| letter.bytes.len() as u64).sum::<u64>())
    }

    /// Whether a message of this request waits already.
    pub(crate) async fn waits(&mut self, id: RunId, request: &str) -> Outcome<bool> {
        let nothing = Mail::default();
        let head = &self.run(id).head;
        let mail = self.mail.get(&id).unwrap_or(&nothing);
        if mail.added.iter().any(|letter| letter.request.as_deref() == Some(request)) {
            return Ok(true);
        }
        if head.inbox <= head.consumed {
            return Ok(false);
        }
        let sql = "SELECT number FROM @inbox WHERE namespace = $1 AND run = $2 AND request = $3";
        let values: [crate::connection::db::Value<'_>; 3] =
            [&blob::space(id), &blob::uuid(id), &request];
        for row in self.db.rows(sql, &values).await? {
            if !mail.is_gone(Number(number(&row, 0)?)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The oldest messages of a run in the database, after a number.
pub(crate) async fn stored(
    db: Db<'_>,
    id: RunId,
    after: Number,
    limit: usize,
) -> Outcome<Vec<Received>> {
    let sql = "SELECT number, at, bytes FROM @inbox \
               WHERE namespace = $1 AND run = $2 AND number > $3 ORDER BY number LIMIT $4";
    let values: [crate::connection::db::Value<'_>; 4] =
        [&blob::space(id), &blob::uuid(id), &int(after.0), &count(limit)];
    let rows = db.rows(sql, &values).await?;
    rows.iter()
        .map(|row| {
            let (number, at) = (Number(number(row, 0)?), Time(row.try_get(1)?));
            Ok(Received { number, at, message: blob::open(id, row, 2)? })
        })
        .collect()
}
