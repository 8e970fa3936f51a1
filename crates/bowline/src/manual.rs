//! The manual: ten short chapters, from your first workflow to the web service around it.
//!
//! Each chapter says what to write, what happens on a crash and on a cancel, which messages the
//! usual mistakes give, and what is not promised. Its programs run as tests.
//!
//! | | |
//! |---|---|
//! | [1](_01_first_workflow) | a function that survives a crash |
//! | [2](_02_activities_and_retries) | doing things in the world, which fails; processes |
//! | [3](_03_determinism) | why a workflow must do the same each time, and what breaks that |
//! | [4](_04_cancelling_and_cleaning_up) | stopping for real, and knowing that it has stopped |
//! | [5](_05_scopes_and_deadlines) | parts that end as a whole, in time; release it either way |
//! | [6](_06_children) | workflows that start workflows |
//! | [7](_07_messages) | signals, queries and updates; live progress |
//! | [8](_08_testing) | a year in a moment, and every crash you like |
//! | [9](_09_deploying_and_versioning) | new code and old runs; logs, numbers, the command line |
//! | [10](_10_embedding) | inside axum, inside your own transactions, on Postgres |

// Links to what a feature brings lead nowhere without it. The pages are made with all of them.
#![cfg_attr(
    not(all(feature = "test", feature = "_rusqlite")),
    allow(rustdoc::broken_intra_doc_links)
)]

// Rustdoc sorts modules by name: the numbers keep the chapters in order, and a name cannot begin
// with a digit.
macro_rules! chapters {
    ($($name:ident $file:literal)*) => {
        $(
            #[doc = include_str!(concat!("../manual/", $file))]
            pub mod $name {}
        )*
    };
}

chapters! {
    _01_first_workflow "01-first-workflow.md"
    _02_activities_and_retries "02-activities-and-retries.md"
    _03_determinism "03-determinism.md"
    _04_cancelling_and_cleaning_up "04-cancelling-and-cleaning-up.md"
    _05_scopes_and_deadlines "05-scopes-and-deadlines.md"
    _06_children "06-children.md"
    _07_messages "07-messages.md"
    _08_testing "08-testing.md"
    _09_deploying_and_versioning "09-deploying-and-versioning.md"
    _10_embedding "10-embedding.md"
}
