//! What the database makes of the statements that matter, with a million rows before it: each finds
//! its rows by an index. On a real server, like the tests in `tests/`.

use std::collections::BTreeMap;

use bowline_core::{
    ActivityLive, ActivitySpec, Alarm, AlarmKind, Batch, Birth, Event, EventId, Link, Namespace,
    Number, Reuse, RunId, Status, Time, TurnRecord, WorkflowStarted,
};
use bowline_store::{Filter, Head};
use tokio_postgres::{Client, NoTls};

use crate::{
    PostgresStore, Settings,
    connection::db::{PLANS, named},
    queue::{claim, fire, member, sweep},
    read::find,
    rows::{activity::Activity, inbox::Mail, run, run::Run},
    write::{statement::Writes, tx},
};

/// Most activities are over, as they are after a while; a few wait, a few run. Most runs are
/// closed; a few wait.
const ROWS: &str = "
    TRUNCATE @runs, @labels, @activities, @alarms, @inbox, @members;
    INSERT INTO @runs (namespace, run, rev, queue, name, status, version, last_commit, inbox,
        consumed, cut_in, next_event, history_bytes, never_started, marks, marked, owing,
        epoch, counter, turn_at, intake_at, remote_at, remote_queue, started_at, closed_at)
    SELECT 1, md5(n::text)::uuid, 0, 'q' || n % 5, 'flow' || n % 20, 2, 1, md5('c')::uuid, 1, 1, 0,
        5, 100, 0, 0, 0, 0, CASE WHEN n % 100 = 0 THEN n % 7 END, CASE WHEN n % 100 = 0 THEN 1 END,
        CASE WHEN n % 50 = 0 THEN n END, CASE WHEN n % 60 = 0 THEN n END,
        CASE WHEN n % 70 = 0 THEN n END, CASE WHEN n % 70 = 0 THEN 'q' || n % 5 END, n,
        CASE WHEN n % 50 > 0 THEN n END
    FROM generate_series(1, 200000) n;
    INSERT INTO @labels (namespace, run, workflow_id, name, queue, serial, started_at, deleted,
        origin)
    SELECT 1, md5(n::text)::uuid, 'id-' || n, 'flow', 'q', 1, n, false, 'x'
    FROM generate_series(1, 200000) n;
    INSERT INTO @activities (namespace, run, number, place, due, arrival, later, epoch, cancelled,
        adrift, queue, name, live, spec)
    SELECT 1, md5((n / 5)::text)::uuid, n, CASE WHEN n % 50 = 0 THEN 0 WHEN n % 51 = 0 THEN 1
        ELSE 2 END, n, n, n % 100 = 0, CASE WHEN n % 51 = 0 AND n % 50 <> 0 THEN n % 7 END,
        n % 500 = 0, false, 'q' || n % 5, 'act' || n % 20, 'x', 'x'
    FROM generate_series(1, 1000000) n;
    INSERT INTO @alarms (due, namespace, run, what, limits)
    SELECT n, 1, md5(n::text)::uuid, 'x', false FROM generate_series(1, 200000) n;
    INSERT INTO @inbox (namespace, run, number, at, bytes)
    SELECT 1, md5(n::text)::uuid, 2, n, 'x' FROM generate_series(1, 200000) n;
    INSERT INTO @members (epoch, identity, state, lease, joined_at, renewed_at, contact_since)
    SELECT n, 'm', n % 2, interval '1 s', now(), now(), now() FROM generate_series(0, 6) n;
    ANALYZE @runs; ANALYZE @labels; ANALYZE @activities; ANALYZE @alarms; ANALYZE @inbox;
    ANALYZE @members";

/// A row of each kind, changed: the statement of a turn.
fn a_turn() -> String {
    let run = RunId { namespace: Namespace(1), uuid: 7 };
    let started = WorkflowStarted { workflow_id: "w".into(), ..WorkflowStarted::default() };
    let kind = started.clone().into();
    let first = Event { id: EventId(1), time: Time(1), kind, notes: Vec::new(), wire: None };
    let birth = Birth {
        run,
        events: vec![first.clone()],
        record: TurnRecord::default(),
        alarms: Vec::new(),
        activities: Vec::new(),
        wake: true,
        reuse: Reuse::Allow,
        link: Link::None,
    };
    let (head, _) = Head::born(&birth).expect("it begins");
    let live = ActivityLive::queued(Time(1), Time(1));
    let activity = Activity::new(run, EventId(5), ActivitySpec::default(), live);
    let alarm = Alarm { due: Time(1), what: AlarmKind::Timer(EventId(4)) };
    let mail = Mail { upto: Number(3), ..Mail::default() };
    let writes = Writes {
        fences: vec![(run, 1)],
        runs: vec![Run::born(head, &started, 1)],
        labels: BTreeMap::from([(run, crate::write::statement::LabelEdit::of(Time(1)))]),
        history: Batch::of(&vec![first]).map(|batch| (run, batch)).into_iter().collect(),
        mail: [(run, mail)].into(),
        activities: vec![activity],
        old_activities: vec![(run, EventId(6))],
        alarms: BTreeMap::from([((run, alarm), false)]),
        silenced: [run].into(),
        ..Writes::default()
    };
    writes.statement().text()
}

/// A statement, and the indexes that it should use.
type Case = (&'static str, String, &'static [&'static str]);

fn cases() -> Vec<Case> {
    let wanted = format!("SELECT {} FROM {}", run::COLUMNS, run::WANTED);
    let (turn, cancelled, untold) = (a_turn(), member::cancelled(), member::untold());
    let (inboxes, touched) = (crate::read::reader::inboxes(), claim::touched());
    let attempts = tx::attempts_text();
    let (open, _) = find::query(&Filter { statuses: OPEN.into(), ..all() }, None, 10);
    let few = |filter: Filter| find::few(&filter).expect("it names something").0;
    let by_id = few(Filter { workflow_id: Some("w".into()), ..all() });
    let by_prefix = few(Filter { workflow_id_prefix: Some("w".into()), ..all() });
    let by_parent = few(Filter { parent: Some(RunId::default()), ..all() });
    let (every, _) = find::query(&all(), None, 10);
    let cases: [(&'static str, &str, &'static [&'static str]); 26] = [
        ("open runs", &open, &["runs_open"]),
        ("runs of a workflow id", &by_id, &["labels_workflow"]),
        ("runs whose workflow id begins so", &by_prefix, &["labels_workflow"]),
        ("runs of a parent", &by_parent, &["labels_parent"]),
        ("all runs", &every, &["labels_pkey"]),
        ("the newest runs of workflow ids", tx::IDS, &["labels_workflow"]),
        ("attempts of a run", &attempts, &["activities_held", "activities_out"]),
        ("what may be forgotten", sweep::EXPIRED, &["runs_expired"]),
        (
            "a turn",
            &turn,
            &["runs_pkey", "labels_pkey", "inbox_pkey", "activities_pkey", "alarms_"],
        ),
        ("reading runs", &wanted, &["runs_pkey", "labels_pkey"]),
        ("claiming turns", claim::TURNS, &["runs_turn", "runs_pkey"]),
        ("claiming remote turns", claim::REMOTE, &["runs_remote", "runs_pkey"]),
        ("claiming intake", claim::INTAKE, &["runs_intake", "runs_pkey"]),
        ("names in a queue", claim::NAMES, &["activities_queue"]),
        ("waiting activities", claim::WAITING, &["activities_queue", "runs_pkey"]),
        ("cancels of a member", &cancelled, &["activities_told"]),
        ("cancels that remote workers may not have", &untold, &["activities_untold"]),
        ("inboxes", &inboxes, &["runs_pkey", "labels_pkey", "inbox_"]),
        ("cancels after a claim", &touched, &["runs_pkey", "activities_"]),
        ("attempts of a member", member::INVENTORY, &["activities_held"]),
        ("marks on attempts", member::MARKED, &["runs_marked"]),
        ("attempts of the dead", member::HELD_ATTEMPTS, &["activities_held"]),
        ("attempts whose code runs on", member::ADRIFT, &["activities_adrift"]),
        ("alarms that are due", fire::DUE, &["alarms_pkey"]),
        ("rows under a mark", sweep::COVERED, &["activities_"]),
        ("retries that are due", fire::DUE_AGAIN, &["activities_later"]),
    ];
    cases.map(|(what, sql, indexes)| (what, sql.to_owned(), indexes)).into()
}

async fn plan(client: &Client, prefix: &str, sql: &str) -> String {
    let values = (1..).take_while(|at| sql.contains(&format!("${at}"))).count();
    let sql = named(sql, prefix);
    client.batch_execute(&format!("PREPARE asked AS {sql}")).await.expect("it is SQL");
    let nulls = vec!["NULL"; values].join(", ");
    let call = if values == 0 { String::new() } else { format!("({nulls})") };
    let explain = format!("EXPLAIN EXECUTE asked{call}");
    let rows = client.query(&explain, &[]).await.expect("it is explained");
    client.batch_execute("DEALLOCATE asked").await.expect("it was prepared");
    rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect()
}

#[test]
fn statements_find_their_rows_by_an_index() {
    let url = std::env::var("BOWLINE_TEST_POSTGRES")
        .unwrap_or_else(|_| panic!("BOWLINE_TEST_POSTGRES is not set: run `cargo xtask test`"));
    let schema = format!("explain_{}", std::process::id());
    let settings = Settings { schema: schema.clone(), ..Settings::default() };
    drop(PostgresStore::open_with(&url, settings).expect("it opens"));
    let cases = cases();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("it runs");
        tokio::spawn(connection);
        let prefix = format!("{schema}.");
        client.batch_execute(PLANS).await.expect("a session can be told");
        let mut slow = Vec::new();
        // A plan may be older than most rows: those of the first look of all have to do.
        let few = ROWS.replace("200000", "500").replace("1000000", "2500");
        for rows in [&few, ROWS] {
            client.batch_execute(&named(rows, &prefix)).await.expect("rows");
            for (what, sql, indexes) in &cases {
                let plan = plan(&client, &prefix, sql).await;
                let scans = |table: &&str| plan.contains(&format!("Seq Scan on {table}"));
                slow.extend(TABLES.iter().filter(|t| scans(t)).map(|t| (*what, *t, plan.clone())));
                let missing = indexes.iter().filter(|index| !plan.contains(**index));
                slow.extend(missing.map(|index| (*what, *index, plan.clone())));
            }
        }
        let gone = format!("DROP SCHEMA {schema} CASCADE");
        client.batch_execute(&gone).await.expect("it goes");
        for (what, index, plan) in &slow {
            eprintln!("{what}: {index} is not used as it should:\n{plan}");
        }
        assert!(slow.is_empty(), "{} plans look at too much", slow.len());
    });
}

const OPEN: [Status; 2] = [Status::Running, Status::Cancelling];

fn all() -> Filter {
    Filter { namespace: Namespace(1), ..Filter::default() }
}

/// Nobody reads these from end to end.
const TABLES: [&str; 6] = ["runs", "labels", "activities", "alarms", "inbox", "history"];
