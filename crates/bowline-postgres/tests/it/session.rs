//! Members that watch each other's sessions. Leases are an hour long here: whoever is given up is
//! given up for its session.

use std::time::Duration;

use bowline_core::{Batch, CommitId, Epoch, Event, MarkerRecorded, Time};
use bowline_postgres::Settings;
use bowline_store::{Commit, Error, Head, Read, Renewal, RunKey, Store};

use crate::{
    crowd::{locked, until_waiting},
    place::Place,
    takeover::{Member, until},
    wait::{look_until, wait},
};

const LEASE: Duration = Duration::from_secs(3_600);
const NOW: Time = Time(1_000_000);

fn join(place: &Place) -> Member {
    join_at(place, &place.url(), place.settings())
}

/// Joins, and waits until others can know it by its session.
fn join_at(place: &Place, url: &str, settings: Settings) -> Member {
    let member = Member::join_at(url, settings, LEASE);
    look_until("it never had a session", || session(place, member.epoch) > 0);
    member
}

/// The session of a member: what its process is, in the server; 0 if it has none.
fn session(place: &Place, epoch: Epoch) -> i64 {
    let sql = format!(
        "SELECT coalesce(max(session), 0)::int8 FROM {}.members WHERE epoch = {} AND state = 0",
        place.schema(),
        epoch.0
    );
    place.with(async move |client| client.query_one(&sql, &[]).await.expect("it is SQL").get(0))
}

/// Waits until a member has looked at others so many times from now on.
fn until_looked(place: &Place, observer: &Member, times: usize) {
    let process = session(place, observer.epoch);
    let looked = format!(
        "SELECT coalesce((extract(epoch FROM max(query_start)) * 1000000)::int8, 0) \
         FROM pg_stat_activity \
         WHERE pid = {process} AND state = 'idle' AND query LIKE '%pg_stat_get_activity%'"
    );
    let look = || -> i64 {
        let sql = looked.clone();
        place.with(async move |client| client.query_one(&sql, &[]).await.expect("it is SQL").get(0))
    };
    let mut last = look();
    // The one that is on its way may have begun before.
    for _ in 0..=times {
        look_until("nobody looked", || look() > last);
        last = look();
    }
}

fn state(place: &Place, epoch: Epoch, state: i16) -> bool {
    let schema = place.schema();
    place.count(&format!("{schema}.members WHERE epoch = {} AND state = {state}", epoch.0)) == 1
}

/// A killed process held its runs until its lease had run out, thirty seconds. Its sessions end
/// with it, at once.
#[test]
fn who_has_no_session_any_more_is_given_up_before_its_lease() {
    let place = Place::new();
    let (dead, other) = (join(&place), join(&place));
    dead.start(1);
    assert_eq!(dead.claim().expect("alive").len(), 1);
    until_looked(&place, &other, 1);
    drop(dead);
    let mut taken = Vec::new();
    until(&other, || {
        other.sweep();
        taken = other.claim().expect("alive");
        !taken.is_empty()
    });
    assert_eq!(taken[0].fence.expect("held").epoch, other.epoch);
}

/// Several processes of one host die with it, among them those who have watched each other.
#[test]
fn several_may_die_at_once() {
    let place = Place::new();
    let (other, dead) = (join(&place), [join(&place), join(&place), join(&place)]);
    until_looked(&place, &other, 1);
    let epochs = dead.each_ref().map(|dead| dead.epoch);
    drop(dead);
    let alive = format!("{}.members WHERE state = 0", place.schema());
    until(&other, || place.count(&alive) == 1);
    assert!(epochs.iter().all(|epoch| !state(&place, *epoch, 0)));
    assert!(state(&place, other.epoch, 0));
}

/// A session may be lost in many ways while its process lives: that one says so with another one.
#[test]
fn who_has_another_session_is_not_given_up() {
    let place = Place::new();
    let (cut, other) = (join(&place), join(&place));
    for _ in 0..5 {
        until_looked(&place, &other, 1);
        let before = session(&place, cut.epoch);
        place.execute(&format!("SELECT pg_terminate_backend({before})"));
        look_until("it never came back", || {
            assert!(state(&place, cut.epoch, 0), "it was given up");
            ![0, before].contains(&session(&place, cut.epoch))
        });
    }
    until_looked(&place, &other, 6);
    let renewal = Renewal::new(cut.epoch, LEASE, NOW);
    wait(cut.store.renew(renewal)).expect("it is alive");
}

/// Where everybody's session ends, as when the database is restarted, nobody is to blame.
#[test]
fn nobody_is_given_up_when_all_sessions_end() {
    let place = Place::new();
    let members = [join(&place), join(&place), join(&place)];
    for _ in 0..3 {
        until_looked(&place, &members[0], 1);
        let before = members.each_ref().map(|member| session(&place, member.epoch));
        let [one, two, three] = before;
        place.execute(&format!(
            "SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[{one}, {two}, {three}]) AS s (pid)"
        ));
        for (member, before) in members.iter().zip(before) {
            look_until("it never came back", || {
                assert!(state(&place, member.epoch, 0), "it was given up");
                ![0, before].contains(&session(&place, member.epoch))
            });
        }
    }
    until_looked(&place, &members[0], 6);
    assert!(members.iter().all(|member| state(&place, member.epoch, 0)));
}

fn head(member: &Member, uuid: u128) -> Head {
    let run = bowline_core::RunId { namespace: bowline_core::Namespace(1), uuid };
    let read = wait(member.store.read(Read::head(RunKey::Run(run)))).expect("it reads");
    read.expect("it is there").head
}

fn turn(head: &Head, commit: u128) -> Commit {
    let kind = MarkerRecorded::default().into();
    let event = Event { id: head.next_event, time: NOW, kind, notes: Vec::new(), wire: None };
    Commit {
        fence: head.holder,
        consumed: head.inbox,
        next_event: head.next_event.plus(1),
        batch: Batch::of(&vec![event]),
        ..Commit::unchanged(head, CommitId(commit), NOW)
    }
}

/// A process lives, and was given up for its session long before its lease is over. What it has on
/// its way was decided before it was: it is written before its run is handed on, or not at all.
/// Nothing is written after that, and nobody is forgotten in whose name something may be.
#[test]
fn who_was_given_up_early_writes_nothing_once_its_runs_are_handed_on() {
    for waits_behind in [false, true] {
        let place = Place::new();
        let mut settings = place.settings();
        settings.locks = Duration::from_secs(20);
        let early = join_at(&place, &place.url(), settings.clone());
        let other = join_at(&place, &place.url(), settings);
        early.start(1);
        assert_eq!(early.claim().expect("alive").len(), 1);
        let held = head(&early, 1);
        let give_up = || {
            let sql = format!(
                "UPDATE {}.members SET state = 2 WHERE epoch = {}",
                place.schema(),
                early.epoch.0
            );
            place.execute(&sql);
        };
        let commit = || early.store.commit(vec![turn(&held, 1)]);
        let sweep = || other.store.sweep(sweep_of(other.epoch));
        let (answer, swept) = locked(&place, 1, || {
            if waits_behind {
                give_up();
                let swept = sweep();
                until_waiting(&place, 1);
                let answer = commit();
                (answer, swept)
            } else {
                let answer = commit();
                until_waiting(&place, 1);
                give_up();
                let swept = sweep();
                until_waiting(&place, 2);
                assert!(state(&place, early.epoch, 2), "it is not forgotten");
                (answer, swept)
            }
        });
        let answer = wait(answer).remove(0);
        wait(swept).expect("it is alive");
        other.sweep();
        let after = head(&other, 1);
        assert_eq!(after.holder, None, "it is handed on");
        let written = if answer.is_ok() { held.next_event.plus(1) } else { held.next_event };
        assert_eq!(after.next_event, written, "what it was told is what there is: {answer:?}");
        if waits_behind {
            assert!(matches!(answer, Err(Error::Fenced)), "it was given up before: {answer:?}");
        }
        let late = turn(&Head { holder: held.holder, ..after }, 2);
        let late = wait(early.store.commit(vec![late])).remove(0);
        assert!(matches!(late, Err(Error::Fenced)), "{late:?}");
        let renewal = Renewal::new(early.epoch, LEASE, NOW);
        let renewed = wait(early.store.renew(renewal));
        assert!(matches!(renewed, Err(Error::Fenced)), "{renewed:?}");
    }
}

fn sweep_of(epoch: Epoch) -> bowline_store::Sweep {
    bowline_store::Sweep { epoch, now: NOW, limit: 100, retention: Vec::new(), presume: None }
}

/// A role of its own may not see how long the sessions of others have been there.
struct Role<'p> {
    place: &'p Place,
    name: String,
}

impl<'p> Role<'p> {
    fn new(place: &'p Place, name: &str) -> Self {
        let name = format!("{}_{name}", place.schema());
        let schema = place.schema();
        place.execute(&format!(
            "CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {name}; \
             GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {name}"
        ));
        Self { place, name }
    }

    fn url(&self) -> String {
        self.place.url().replace("bowline@", &format!("{}@", self.name))
    }
}

impl Drop for Role<'_> {
    fn drop(&mut self) {
        self.place.execute(&format!("DROP OWNED BY {0}; DROP ROLE {0}", self.name));
    }
}

/// Who may not see the sessions of others gives nobody up for them: their leases count.
#[test]
fn who_may_not_see_sessions_gives_nobody_up_for_them() {
    let place = Place::new();
    // It makes the tables.
    drop(Member::join_at(&place.url(), place.settings(), LEASE));
    place.bury_members();
    let (mine, yours) = (Role::new(&place, "mine"), Role::new(&place, "yours"));
    let dead = join_at(&place, &yours.url(), place.settings());
    let other = join_at(&place, &mine.url(), place.settings());
    until_looked(&place, &other, 1);
    let epoch = dead.epoch;
    drop(dead);
    until_looked(&place, &other, 8);
    assert!(state(&place, epoch, 0), "its lease has not run out");
    drop(other);
}

/// Without a session of its own, as behind a pooler of transactions, nobody is watched.
#[test]
fn who_has_no_session_is_not_watched() {
    let place = Place::new();
    let mut settings = place.settings();
    settings.hints = false;
    let dead = Member::join_at(&place.url(), settings, LEASE);
    let other = join(&place);
    until_looked(&place, &other, 1);
    let epoch = dead.epoch;
    assert_eq!(session(&place, epoch), 0);
    drop(dead);
    until_looked(&place, &other, 8);
    assert!(state(&place, epoch, 0), "its lease has not run out");
}
