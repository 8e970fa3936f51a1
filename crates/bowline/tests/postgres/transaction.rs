//! N12 on a database: what is asked of runs inside the application's own transaction takes effect
//! with that transaction, whichever driver it is in.

use std::sync::LazyLock;

use bowline::{ClientError, IfExists, Status, prelude::*};
use tokio::{runtime::Runtime, sync::OnceCell};

use crate::driver;

const GO: Signal<u32> = Signal::new("go");

async fn ships(ctx: ActivityCtx, order: String) -> bowline::Result<String> {
    ctx.cancelled().await;
    Err(bowline::Failure::new(format!("{order} was recalled")).into())
}

async fn checkout(ctx: Ctx, order: String) -> bowline::Result<String> {
    Ok(ctx.activity(ships, &order).await?)
}

async fn waits(ctx: Ctx) -> bowline::Result<u32> {
    Ok(ctx.signal(GO).recv().await)
}

/// One program for all tests of this file, on a runtime that outlives each of them: a run that one
/// test started may be worked on by whichever program is there.
async fn program() -> Bowline {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
    static PROGRAM: OnceCell<Bowline> = OnceCell::const_new();
    let begin_transaction = || async {
        let app = Bowline::open(driver::url()).workflow(checkout).workflow(waits).activity(ships);
        let started = RUNTIME.spawn(app.start()).await;
        started.expect("it does not panic").expect("it starts")
    };
    PROGRAM.get_or_init(begin_transaction).await.clone()
}

/// A program, and a table for one test only.
struct Shop {
    bowline: Bowline,
    table: String,
}

impl Shop {
    async fn open(test: &str) -> Self {
        let table = format!("orders_{test}_{}", std::process::id());
        let bowline = program().await;
        let client = driver::tokio_postgres::connect().await;
        let made = format!("CREATE TABLE {table} (id text PRIMARY KEY)");
        client.batch_execute(&made).await.expect("the name is free");
        Self { bowline, table }
    }

    /// An id that no other test uses.
    fn id(&self, name: &str) -> String {
        format!("{name}-{}", self.table)
    }

    fn insert(&self, id: &str) -> String {
        format!("INSERT INTO {} VALUES ('{id}')", self.table)
    }

    /// How many rows others see.
    async fn orders(&self) -> i64 {
        driver::number(&format!("SELECT count(*) FROM {}", self.table)).await
    }

    /// How many of those who have written to the table wait for another transaction to end.
    fn waiting(&self) -> String {
        format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid' \
             AND pid IN (SELECT pid FROM pg_locks WHERE relation = '{}'::regclass)",
            self.table
        )
    }

    async fn exists(&self, id: &str) -> bool {
        match self.bowline.run(id).describe().await {
            Ok(_) => true,
            Err(ClientError::NotFound(_)) => false,
            Err(other) => panic!("{other}"),
        }
    }
}

macro_rules! every_driver {
    ($($driver:ident),*) => {
        $(
            mod $driver {
                use super::{*, driver::$driver::*};

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn n12_an_order_and_its_workflow_begin_and_end_together() {
                    let shop = Shop::open(concat!("both_", stringify!($driver))).await;
                    let (bowline, id) = (&shop.bowline, shop.id("order"));
                    let mut client = connect().await;

                    let mut tx = begin_transaction(&mut client).await;
                    execute(&mut tx, &shop.insert("order")).await.expect("it is free");
                    let run = bowline.start_in(&mut tx, checkout, &id, "a rope").await;
                    let run = run.expect("the id is free");
                    assert!(!shop.exists(&id).await && shop.orders().await == 0, "nobody sees it");
                    tx.commit().await.expect("it commits");
                    assert_eq!(shop.orders().await, 1);

                    let mut tx = begin_transaction(&mut client).await;
                    execute(&mut tx, &format!("DELETE FROM {}", shop.table)).await.expect("SQL");
                    let receipt = bowline.run(&id).cancel("deleted").by("alice").send_in(&mut tx);
                    let receipt = receipt.await.expect("the run is open");
                    let status = run.describe().await.expect("it is there").summary.status;
                    assert_eq!(status, Status::Running, "nobody has cancelled it yet");
                    tx.commit().await.expect("it commits");
                    let tree = receipt.wait(Phase::Clean).await.expect("it is kept").to_string();
                    assert!(tree.contains("requested by alice (deleted)"), "{tree}");
                    assert_eq!(shop.orders().await, 0);
                    let ended = run.outcome().await.expect("it has ended");
                    assert!(matches!(ended, Err(Ended::Cancelled(_))), "{ended:?}");
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn n12_what_is_rolled_back_never_happened() {
                    let shop = Shop::open(concat!("neither_", stringify!($driver))).await;
                    let (bowline, id) = (&shop.bowline, shop.id("waits"));
                    let run = bowline.start(waits, &id, ()).await.expect("it is free");
                    let mut client = connect().await;

                    let mut tx = begin_transaction(&mut client).await;
                    execute(&mut tx, &shop.insert("order")).await.expect("it is free");
                    let begun = bowline.start_in(&mut tx, waits, shop.id("second"), ()).await;
                    begun.expect("the id is free");
                    bowline.signal_in(&mut tx, shop.id("second"), GO, 1).await.expect("it is open");
                    bowline.signal_in(&mut tx, &id, GO, 1).await.expect("it is open");
                    let receipt = bowline.cancel_in(&mut tx, &id, "no reason").await;
                    let receipt = receipt.expect("it is open");
                    tx.rollback().await.expect("it rolls back");

                    assert_eq!(shop.orders().await, 0);
                    assert!(!shop.exists(&shop.id("second")).await);
                    assert!(matches!(receipt.tree().await, Err(ClientError::NotFound(_))));
                    run.signal(GO, 7).await.expect("nobody has cancelled it");
                    assert_eq!(run.result().await.expect("it completes"), 7);
                }

                /// What is refused was found out by reading: the transaction goes on.
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn n12_a_refusal_leaves_the_transaction_whole() {
                    let shop = Shop::open(concat!("refused_", stringify!($driver))).await;
                    let (bowline, id) = (&shop.bowline, shop.id("waits"));
                    bowline.start(waits, &id, ()).await.expect("it is free");
                    let mut client = connect().await;

                    let mut tx = begin_transaction(&mut client).await;
                    let taken = bowline.start_in(&mut tx, waits, &id, ()).await;
                    let error = taken.expect_err("it is open");
                    assert!(matches!(error, ClientError::AlreadyStarted { .. }), "{error}");
                    let nobody = bowline.cancel_in(&mut tx, "nobody", "no reason").await;
                    assert!(matches!(nobody, Err(ClientError::NotFound(_))), "{nobody:?}");
                    execute(&mut tx, &shop.insert("order")).await.expect("it goes on");
                    let same = bowline.start(waits, &id, ()).if_exists(IfExists::Attach);
                    let same = same.send_in(&mut tx).await.expect("it goes on");
                    same.signal_in(&mut tx, GO, 9).await.expect("it goes on");
                    tx.commit().await.expect("it commits");
                    assert_eq!(same.result().await.expect("it completes"), 9);
                    assert_eq!(shop.orders().await, 1);
                }

                /// Whoever does not know whether the commit came through does it again.
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn n12_a_request_that_is_repeated_counts_once() {
                    let shop = Shop::open(concat!("once_", stringify!($driver))).await;
                    let (bowline, id) = (&shop.bowline, shop.id("waits"));
                    let mut client = connect().await;
                    let mut runs = Vec::new();
                    for _ in 0..2 {
                        let mut tx = begin_transaction(&mut client).await;
                        let start = bowline.start(waits, &id, ()).request_id("one");
                        runs.push(start.send_in(&mut tx).await.expect("it is the same request"));
                        tx.commit().await.expect("it commits");
                    }
                    let mut tx = begin_transaction(&mut client).await;
                    bowline.signal_in(&mut tx, &id, GO, 3).await.expect("it is open");
                    tx.commit().await.expect("it commits");
                    for run in &runs {
                        assert_eq!(run.result().await.expect("it completes"), 3);
                    }
                    let begun = "SELECT count(*) FROM bowline.labels WHERE workflow_id";
                    assert_eq!(driver::number(&format!("{begun} = '{id}'")).await, 1);
                }

                /// Both want the id, and neither sees the other's. The second one's statement has
                /// failed then, and with it the transaction: it is told so, and what to do.
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn n12_whoever_comes_second_is_told_to_begin_again() {
                    let shop = Shop::open(concat!("second_", stringify!($driver))).await;
                    let (bowline, id) = (&shop.bowline, shop.id("waits"));
                    let (mut first, mut second) = (connect().await, connect().await);
                    let mut one = begin_transaction(&mut first).await;
                    bowline.start_in(&mut one, waits, &id, ()).await.expect("it is free");
                    let mut two = begin_transaction(&mut second).await;
                    execute(&mut two, &shop.insert("second")).await.expect("it is free");
                    let (late, ()) = tokio::join!(
                        bowline.start_in(&mut two, waits, &id, ()),
                        async {
                            let waiting = shop.waiting();
                            while driver::number(&waiting).await == 0 {}
                            one.commit().await.expect("it commits");
                        }
                    );
                    let error = late.expect_err("somebody else has it");
                    assert_eq!(error.code(), "busy", "{error}");
                    assert!(error.to_string().contains("roll the transaction back"), "{error}");
                    two.rollback().await.expect("it rolls back");
                    let mut two = begin_transaction(&mut second).await;
                    let taken = bowline.start_in(&mut two, waits, &id, ()).await;
                    let error = taken.expect_err("it is seen now");
                    assert!(matches!(error, ClientError::AlreadyStarted { .. }), "{error}");
                    assert_eq!(shop.orders().await, 0);
                }
            }
        )*
    };
}

every_driver!(tokio_postgres, sqlx_0_8, sqlx_0_9);

/// A database's transaction has no part in a file.
#[tokio::test]
async fn n12_a_store_elsewhere_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = Bowline::open(folder.path().join("file.db")).workflow(waits);
    let bowline = file.start().await.expect("it starts");
    let mut client = driver::tokio_postgres::connect().await;
    let mut tx = driver::tokio_postgres::begin_transaction(&mut client).await;
    let refused = bowline.start_in(&mut tx, waits, "waits", ()).await;
    let error = refused.expect_err("it is in a file").to_string();
    assert!(error.contains("not in a Postgres database"), "{error}");
}
