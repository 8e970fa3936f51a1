//! One decision about one run, written whole or not at all.
//!
//! In:    a commit, and the rows of its run as they stand.
//! Out:   rows of the run, inbox rows of others, and what the decision met on the way.
//! Never: decides. What hangs on another row is answered by message, in the own inbox.

mod activity;
mod birth;
mod cancel;
mod post;

pub(crate) use birth::{check_birth, check_id};
use bowline_core::{Message, Number, Received, RunId};
use bowline_store::{Commit, Committed, Error, Hint, stored};
use futures_util::future::BoxFuture;

use crate::{
    connection::{db::Outcome, nonce},
    limits,
    rows::activity::Activity,
    write::{
        settle,
        tx::{Tx, Wants},
    },
};

/// What a commit will look at.
pub(crate) fn wants(commit: &Commit, wants: &mut Wants) {
    wants.runs.insert(commit.run);
    if let Some(fence) = commit.fence {
        wants.held.insert(commit.run);
        wants.epochs.insert(fence.epoch);
    }
    for post in &commit.posts {
        match &post.to {
            bowline_core::Address::Run(run) | bowline_core::Address::Chain(run) => {
                wants.runs.insert(*run);
            }
            bowline_core::Address::Current(namespace, id) => {
                wants.ids.insert((*namespace, id.clone()));
            }
        }
    }
    commit.ended.iter().for_each(|offered| settle::wants(&offered.settle, wants));
    for birth in &commit.births {
        wants.runs.insert(birth.run);
        wants.new.insert(birth.run);
    }
    for (ranges, _) in &commit.cancels {
        if ranges.count() <= bowline_core::limits::MARK_FROM {
            wants.activities.extend(ranges.ids().map(|id| (commit.run, id)));
        }
    }
}

pub(crate) fn commit<'t>(
    tx: &'t mut Tx<'_>,
    commit: &'t Commit,
) -> BoxFuture<'t, Outcome<Committed>> {
    Box::pin(async move {
        let run = tx.find(commit.run).await?.ok_or(Error::Missing("run"))?;
        if run.head.last_commit == commit.id {
            return again(tx, commit).await;
        }
        commit.check_head(&run.head)?;
        let consumes = commit.consumed > run.head.consumed || !commit.forgotten.is_empty();
        if consumes && tx.shared.past.doubts(commit.run, commit.id) {
            return Err(Error::Conflict.into());
        }
        if let Some(fence) = commit.fence {
            tx.alive(fence.epoch).await?;
        }
        let has_newcomer = commit.minds_newcomers() && newcomer(tx, commit).await?;
        commit.check_hold(&tx.run(commit.run).head, has_newcomer)?;
        birth::check(tx, commit).await?;
        let mut ended = Vec::with_capacity(commit.ended.len());
        for offered in &commit.ended {
            let row = settle::offered(tx, commit.run, offered).await?;
            ended.push(row.ok_or(Error::Conflict)?);
        }
        write(tx, commit, &ended).await
    })
}

async fn write(tx: &mut Tx<'_>, commit: &Commit, ended: &[Activity]) -> Outcome<Committed> {
    let id = commit.run;
    let withheld = tx.run(id).head.withholds();
    consume(tx, commit);
    ended.iter().for_each(|activity| tx.put(activity, commit.now));
    write_head(tx, commit);
    if withheld && !tx.run(id).head.withholds() {
        tx.tell_waiting(id).await?;
    }
    if let Some(batch) = &commit.batch {
        tx.append(id, batch);
    }
    if let Some(snapshot) = &commit.snapshot {
        tx.keep_snapshot(id, snapshot);
    }
    let started = activity::add_all(tx, commit).await?;
    let (hits, skipped) = cancel::cancel_all(tx, commit).await?;
    for alarm in &commit.disarm {
        tx.disarm(id, *alarm);
    }
    for alarm in &commit.arm {
        tx.arm(id, *alarm);
    }
    let mut answers = birth::begin_all(tx, commit).await?;
    answers.extend(post::send_all(tx, commit).await?);
    answers.extend(Some(skipped).filter(|s| !s.is_empty()).map(Message::SkipActivities));
    match commit.close.is_some() {
        true => tx.silence(id),
        false => {
            for answer in &answers {
                tx.deliver(id, answer, commit.now);
            }
        }
    }
    tx.hints.insert(Hint::Changed(id));
    if commit.frees_parked(&tx.run(id).head) {
        tx.hints.insert(Hint::Parked(id));
    }
    if commit.ends() {
        tx.hints.insert(Hint::Closed(id));
    }
    let unread = unread(tx, id).await?;
    Ok(Committed { version: tx.run(id).head.version, unread, hits, started })
}

/// The commit was done before, and its answer was lost on the way.
async fn again(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<Committed> {
    let mut started = Vec::new();
    for new in &commit.activities {
        let Some(begin) = &new.start else { continue };
        let Some(row) = tx.activity(commit.run, new.activity).await? else { continue };
        if row.live.started().is_some_and(|start| start.holder == begin.holder) {
            started.push((new.activity, row.live.attempt));
        }
    }
    let head = &tx.run(commit.run).head;
    let (version, consumed, waits) = (head.version, head.consumed, head.inbox > head.consumed);
    let unread = match waits {
        true => tx.unread(commit.run, consumed, limits::UNREAD_MAX).await?,
        false => Vec::new(),
    };
    Ok(Committed { version, unread, hits: Vec::new(), started })
}

/// Whether a message waits that the commit knows nothing of.
async fn newcomer(tx: &mut Tx<'_>, commit: &Commit) -> Outcome<bool> {
    if tx.run(commit.run).head.inbox <= commit.consumed {
        return Ok(false);
    }
    let most = commit.forgotten.len() + 1;
    let waiting = tx.unread(commit.run, commit.consumed, most).await?;
    Ok(waiting.iter().any(|received| !commit.forgotten.contains(&received.number)))
}

fn consume(tx: &mut Tx<'_>, commit: &Commit) {
    let consumed = tx.run(commit.run).head.consumed;
    if commit.consumed <= consumed && commit.forgotten.is_empty() {
        return;
    }
    tx.edit(commit.run);
    let mail = tx.mail.entry(commit.run).or_default();
    if commit.consumed > consumed {
        mail.consume(commit.consumed);
    }
    commit.forgotten.iter().for_each(|number| mail.forget(*number));
}

fn write_head(tx: &mut Tx<'_>, commit: &Commit) {
    let head = &mut tx.edit(commit.run).head;
    let version = nonce::version(head.version, commit.id);
    head.take(commit);
    head.version = version;
    if commit.close.as_ref().is_some_and(|close| close.delete) {
        tx.label(commit.run).deleted = true;
        tx.hints.insert(Hint::Sweep);
    }
    if let Some(search) = &commit.search {
        tx.label(commit.run).search = Some(stored::search_bytes(search));
    }
    if let Some(memo) = &commit.memo {
        tx.label(commit.run).memo = Some(stored::memo_bytes(memo));
    }
}

/// What waits now. Dropped messages count as consumed as soon as nothing before them is unread: or
/// the run would be ready for nothing, again and again.
async fn unread(tx: &mut Tx<'_>, id: RunId) -> Outcome<Vec<Received>> {
    let head = &tx.run(id).head;
    if head.inbox <= head.consumed {
        return Ok(Vec::new());
    }
    let unread = tx.unread(id, head.consumed, limits::UNREAD_MAX).await?;
    let head = &mut tx.edit(id).head;
    head.consumed = unread.first().map_or(head.inbox, |first| Number(first.number.0 - 1));
    Ok(unread)
}
