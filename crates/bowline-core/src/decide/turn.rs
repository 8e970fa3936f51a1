//! Turns: a native one is opened and completed in one commit; a remote one is scheduled, handed
//! out, and answered, failed or timed out later, by whoever gets there first.

mod answer;
mod fail;
mod remote;

use crate::{
    Asked, Blob, Command, ControlQueue, Draft, Failure, Identity, Note, Refusal, RequestId, Sticky,
    Token, TurnCompleted, TurnFault, TurnScheduled, TurnStarted, UpdateId,
};

pub(crate) use fail::{force_closed, overrun, time_out, time_out_started};
pub(crate) use remote::schedule;

/// A worker takes a turn.
#[derive(Clone, Debug, Default)]
pub struct StartTurn {
    /// Who takes it.
    pub worker: Identity,
    /// The poll that takes it.
    pub request_id: RequestId,
    /// Where the worker listens for notices.
    pub control: ControlQueue,
    /// What the door wants to have stored with the event.
    pub wire: Option<Blob>,
}

/// A worker's answer to a turn.
#[derive(Clone, Debug)]
pub struct TurnAnswer {
    /// Which turn.
    pub token: Token,
    /// Who answers.
    pub worker: Identity,
    /// What the code asks for, in order.
    pub commands: Vec<Asked>,
    /// The worker keeps the run in its cache and wants its next turns.
    pub sticky: Option<Sticky>,
    /// The worker wants another turn at once, to keep a local activity alive.
    pub again: bool,
    /// The SDK's own remarks, kept as they are.
    pub sdk_metadata: Option<Blob>,
    /// Likewise.
    pub metering: Option<Blob>,
    /// Likewise.
    pub worker_version: Option<Blob>,
    /// Likewise.
    pub deployment: Option<Blob>,
    /// What the door wants to have stored with the event.
    pub wire: Option<Blob>,
}

impl TurnAnswer {
    /// An answer with nothing but commands.
    pub fn new(token: Token, commands: Vec<Asked>) -> Self {
        Self {
            token,
            worker: Identity::default(),
            commands,
            sticky: None,
            again: false,
            sdk_metadata: None,
            metering: None,
            worker_version: None,
            deployment: None,
            wire: None,
        }
    }
}

/// A worker says that it cannot.
#[derive(Clone, Debug)]
pub struct FailTurn {
    /// Which turn.
    pub token: Token,
    /// Who says so.
    pub worker: Identity,
    /// Why.
    pub fault: TurnFault,
    /// Why, in detail.
    pub failure: Option<Failure>,
    /// What the door wants to have stored with the event.
    pub wire: Option<Blob>,
    /// Trying again cannot help: the run is terminated, for this reason.
    pub hopeless: Option<String>,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnVerdict {
    /// It was taken.
    Taken,
    /// It was a speculative turn that came to nothing: no trace of it is left.
    Dropped,
    /// A command was refused: the turn has failed instead, and must be committed as such.
    Failed(Refusal),
}

impl Draft {
    /// Native rules: begins the turn that runs the code now, after the messages that it is about. A
    /// closed run has no turn.
    pub fn open_turn(&mut self) {
        if !self.state.status.is_open() {
            return;
        }
        self.end_delay();
        let notes = self.take_notes();
        let event = TurnScheduled { attempt: 1, ..TurnScheduled::default() };
        let scheduled = self.record_at(self.now, event, notes, None);
        self.event(TurnStarted { scheduled, ..TurnStarted::default() });
    }

    /// Native rules: ends the turn with what the code asked for. Notes about cancels and scopes
    /// ride on `TurnCompleted`, ahead of the events that the commands yield.
    ///
    /// # Errors
    /// If a command is not acceptable. The draft must then be thrown away.
    pub fn complete_turn(&mut self, commands: Vec<Command>) -> Result<(), Refusal> {
        let (Some(scheduled), Some(started)) = (self.state.turn_scheduled, self.state.turn_started)
        else {
            return Err(Refusal::NoSuchTurn);
        };
        check_order(commands.iter())?;
        let notes = notes(self, &commands)?;
        let event = TurnCompleted { scheduled, started, ..TurnCompleted::default() };
        let turn = self.record_at(self.now, event, notes, None);
        for command in commands {
            super::command(self, command.into(), turn)?;
        }
        (self.insists, self.told) = (false, false);
        super::close::bound(self);
        Ok(())
    }
}

/// What commands leave behind on `TurnCompleted`, ahead of their events.
fn notes(draft: &Draft, commands: &[Command]) -> Result<Vec<Note>, Refusal> {
    let mut notes = Vec::new();
    let mut refused: Vec<UpdateId> = Vec::new();
    for command in commands {
        match command {
            Command::Drop(decisions) => notes.push(Note::Cancels(decisions.clone())),
            Command::Scopes(steps) => notes.push(Note::Scopes(steps.clone())),
            Command::Detach(ranges) => notes.push(Note::Detached(ranges.clone())),
            Command::Receive(ranges) => {
                let unread = &draft.state.unread;
                if let Some(id) = ranges.ids().find(|id| !unread.contains(*id)) {
                    let why = format!("event {id} is no signal that waits to be received");
                    return Err(Refusal::Invalid("the list of commands", why));
                }
                notes.push(Note::Received(ranges.clone()));
            }
            Command::RejectUpdate(reject) => {
                let id = &reject.request.id;
                if !super::update::waits(draft, id) || refused.contains(id) {
                    let why = format!("update {id:?} is not waiting to be refused");
                    return Err(Refusal::Command(TurnFault::BadUpdate, why));
                }
                refused.push(id.clone());
            }
            _ => {}
        }
    }
    if !refused.is_empty() {
        notes.push(Note::RefusedUpdates(refused));
    }
    Ok(notes)
}

/// Nothing may follow a closing command.
fn check_order<'c>(commands: impl Iterator<Item = &'c Command>) -> Result<(), Refusal> {
    let mut commands = commands.skip_while(|command| !command.closes());
    match (commands.next(), commands.next()) {
        (Some(_), Some(_)) => {
            let why = "a command follows the one that closes the run".to_owned();
            Err(Refusal::Invalid("the list of commands", why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
