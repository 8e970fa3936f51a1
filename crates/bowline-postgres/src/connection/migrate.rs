//! The schema, step by step: each step once, in its own transaction, known by its checksum. Whoever
//! brings it up to date holds a row meanwhile, so that any number of processes may start at once.

use bowline_store::{
    Error, Result, migrations,
    stored::{Migration, Migrations},
};
use tokio_postgres::{Client, GenericClient, error::SqlState};

use crate::{
    connection::db::named,
    fault::{Fault, shown},
    limits,
};

const STEPS: Migrations = migrations! {
    1 tables
    2 shelves
    3 adrift
    4 fewer
    5 chains
    6 unseen
    7 parked
    8 sessions
};

/// Brings the tables to the newest version, or says why they cannot be.
pub(crate) async fn migrate(client: &mut Client, schema: &str, prefix: &str) -> Result<()> {
    let begun = tokio::time::Instant::now();
    loop {
        match try_migrate(client, schema, prefix, STEPS.0).await {
            Ok(()) => return Ok(()),
            Err(Fault::Sql(error)) if is_crowd(&error) && begun.elapsed() < limits::MIGRATE => {}
            Err(Fault::Sql(error)) => {
                return Err(Error::Open(format!("the tables cannot be made: {}", shown(&error))));
            }
            Err(fault) => return Err(fault.into()),
        }
    }
}

/// The number of these tables, which no other store has.
pub(crate) async fn identity(client: &Client, prefix: &str) -> Result<i64> {
    let sql = named("SELECT value FROM @counters WHERE name = 'store'", prefix);
    let known = client.query_one(&sql, &[]).await.and_then(|row| row.try_get(0));
    known.map_err(|error| {
        Error::Open(format!("the version of the tables cannot be read: {}", shown(&error)))
    })
}

/// Others are making the same thing at the same moment: what they make will be there next time.
fn is_crowd(error: &tokio_postgres::Error) -> bool {
    let code = error.code();
    code.is_some_and(|code| {
        [
            SqlState::UNIQUE_VIOLATION,
            SqlState::DUPLICATE_TABLE,
            SqlState::DUPLICATE_SCHEMA,
            SqlState::DUPLICATE_OBJECT,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ]
        .contains(code)
            // "tuple concurrently updated" has no code of its own.
            || *code == SqlState::INTERNAL_ERROR
    })
}

async fn try_migrate(
    client: &mut Client,
    schema: &str,
    prefix: &str,
    steps: &[Migration],
) -> std::result::Result<(), Fault> {
    let versions = format!("{prefix}versions");
    let there: Option<String> =
        client.query_one("SELECT to_regclass($1)::text", &[&versions]).await?.try_get(0)?;
    if there.is_none() {
        let known =
            client.query_opt("SELECT 1 FROM pg_namespace WHERE nspname = $1", &[&schema]).await?;
        // Whoever may not make schemas may still use one that was made for them.
        if known.is_none() {
            client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
        }
        let made = "CREATE TABLE IF NOT EXISTS @versions (\
                        version int8 PRIMARY KEY, name text NOT NULL, checksum int8 NOT NULL); \
                    INSERT INTO @versions VALUES (0, 'lock', 0) ON CONFLICT DO NOTHING";
        client.batch_execute(&named(made, prefix)).await?;
    }
    if is_current(&*client, prefix).await? {
        return Ok(());
    }
    let tx = client.transaction().await?;
    let lock = named("SELECT 1 FROM @versions WHERE version = 0 FOR UPDATE", prefix);
    tx.query(&lock, &[]).await?;
    // Somebody else may have been first, another build even.
    if is_current(&tx, prefix).await? {
        return Ok(());
    }
    let known = tx.query(&named("SELECT version, checksum FROM @versions", prefix), &[]).await?;
    let mut sums = std::collections::BTreeMap::new();
    for row in &known {
        sums.insert(row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?);
    }
    for step in steps.iter().filter(|step| !sums.contains_key(&step.version)) {
        tx.batch_execute(&named(step.sql, prefix)).await?;
        let add = named("INSERT INTO @versions VALUES ($1, $2, $3)", prefix);
        tx.execute(&add, &[&step.version, &step.name, &step.checksum()]).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Whether there is nothing to do. Refuses tables that another build has made in another way.
async fn is_current(client: &impl GenericClient, prefix: &str) -> std::result::Result<bool, Fault> {
    let sql = named("SELECT version, checksum FROM @versions WHERE version > 0", prefix);
    let mut done = 0;
    for row in client.query(&sql, &[]).await? {
        let (version, checksum): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        STEPS.check("the tables", version, checksum).map_err(Fault::Said)?;
        done += 1;
    }
    Ok(done == STEPS.0.len())
}

#[cfg(test)]
mod tests {
    use tokio_postgres::NoTls;

    use super::*;

    /// Two runs of one workflow id, the newer one open, as the first three steps had them.
    const ROWS: &str = "
        INSERT INTO @labels (namespace, run, workflow_id, name, queue, serial, started_at,
            closed_at, deleted, origin)
        SELECT 1, md5(n::text)::uuid, 'w', 'flow', 'q', 900 + n, 10 * n,
            CASE WHEN n = 1 THEN 15 END, false, 'x' FROM generate_series(1, 2) n;
        INSERT INTO @runs (namespace, run, rev, queue, name, status, version, last_commit, inbox,
            consumed, cut_in, next_event, history_bytes, never_started, marks, marked, owing)
        SELECT 1, md5(n::text)::uuid, 0, 'q', 'flow', 0, 1, md5('c')::uuid, 1, 1, 0, 5, 100, 0, 0,
            0, 0 FROM generate_series(1, 2) n;
        INSERT INTO @ids VALUES (1, 'w', md5('2')::uuid)";

    #[test]
    fn tables_of_an_older_version_keep_their_runs() {
        let url = std::env::var("BOWLINE_TEST_POSTGRES")
            .unwrap_or_else(|_| panic!("BOWLINE_TEST_POSTGRES is not set: run `cargo xtask test`"));
        let schema = format!("migrate_{}", std::process::id());
        let prefix = format!("{schema}.");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let (mut client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("it");
            tokio::spawn(connection);
            let old = try_migrate(&mut client, &schema, &prefix, &STEPS.0[..3]).await;
            old.expect("the first steps are taken");
            client.batch_execute(&named(ROWS, &prefix)).await.expect("rows");
            migrate(&mut client, &schema, &prefix).await.expect("the others are taken");
            let sql = "SELECT l.serial, r.started_at, r.closed_at, r.run = md5('2')::uuid \
                       FROM @runs r JOIN @labels l ON l.namespace = r.namespace \
                       AND l.started_at = r.started_at AND l.run = r.run ORDER BY l.serial";
            let rows = client.query(&named(sql, &prefix), &[]).await.expect("they are there");
            let rows: Vec<(i64, i64, Option<i64>, bool)> =
                rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
            let gone = format!("DROP SCHEMA {schema} CASCADE");
            client.batch_execute(&gone).await.expect("it goes");
            assert_eq!(rows, [(1, 10, Some(15), false), (2, 20, None, true)]);
        });
    }

    /// A newer build brings the tables up to date while an older one waits for its turn. The older
    /// one must look again when its turn comes: what it knew is not what is there.
    #[test]
    fn whoever_has_waited_looks_again() {
        let url = std::env::var("BOWLINE_TEST_POSTGRES")
            .unwrap_or_else(|_| panic!("BOWLINE_TEST_POSTGRES is not set: run `cargo xtask test`"));
        let schema = format!("waited_{}", std::process::id());
        let prefix = format!("{schema}.");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let answer = runtime.expect("a runtime").block_on(async {
            let connect = async || {
                let (client, connection) =
                    tokio_postgres::connect(&url, NoTls).await.expect("the cluster runs");
                tokio::spawn(connection);
                client
            };
            let (mut older, mut newer, look) = (connect().await, connect().await, connect().await);
            try_migrate(&mut older, &schema, &prefix, &STEPS.0[..3]).await.expect("they are taken");
            let tx = newer.transaction().await.expect("it begins");
            let lock = "SELECT 1 FROM @versions WHERE version = 0 FOR UPDATE";
            tx.query(&named(lock, &prefix), &[]).await.expect("it is locked");
            let waiting = format!(
                "SELECT 1 FROM pg_stat_activity \
                 WHERE wait_event_type = 'Lock' AND query LIKE '%{prefix}%'"
            );
            let meanwhile = async {
                while look.query(&waiting, &[]).await.expect("it is SQL").is_empty() {}
                let add = named("INSERT INTO @versions VALUES (999, 'later', 1)", &prefix);
                tx.execute(&add, &[]).await.expect("it is SQL");
                tx.commit().await.expect("it commits");
            };
            let migrating = migrate(&mut older, &schema, &prefix);
            let (answer, ()) = futures_util::future::join(migrating, meanwhile).await;
            let gone = format!("DROP SCHEMA {schema} CASCADE");
            look.batch_execute(&gone).await.expect("it goes");
            answer
        });
        let Err(Error::Open(why)) = answer else { panic!("{answer:?}") };
        assert!(why.contains("schema version 999"), "{why}");
    }
}
