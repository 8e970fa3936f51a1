//! What can be said on the command line, and nothing else.

mod ask;
mod look;
mod place;
mod serve;
mod stop;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use ask::{Given, IfClosed, IfOpen, Query, SignalArgs, Start, Update};
pub(crate) use look::{List, On, OneRun, Orphans, Show};
pub(crate) use place::Place;
pub(crate) use serve::{Http, LogLevel, Options, Payloads, Serve};
pub(crate) use stop::{Cancel, ReceiptArgs, Retry, Terminate, Until, Wait};

/// Serves durable workflows, and looks after them in their store.
///
/// A store is a file, or a Postgres database given as postgres://user@host/database. A file belongs
/// to one process at a time: while a program has it open, these commands refuse and name that
/// program. A database may be open in many processes, these commands included.
///
/// A run is named by its workflow id, which means its newest run, or by @ and the id of the run.
///
/// Answers go to standard output, everything else to standard error. With --json every answer is
/// one JSON object per line, as the HTTP API has it, and errors are one too. Times are local
/// (TZ=UTC for others); there are colours only on a terminal, and none with NO_COLOR=1.
///
/// Exit codes: 0 done. 1 done, and something was found: orphans, damage, a cancel that cannot
/// become clean, an update that was refused. 2 not done, and nothing was changed. 3 asked for, and
/// it stands, but what was to be waited for has not come. 130 interrupted; what was asked for
/// stands.
#[derive(Debug, Parser)]
#[command(name = "bowline", version, max_term_width = 100)]
pub(crate) struct Args {
    /// Print one JSON object per line, for programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The schema that the tables of a database are in. [default: bowline]
    #[arg(long, global = true, env = "BOWLINE_SCHEMA", value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// A file with the password of a database, and nothing else. PGPASSWORD may have it too.
    #[arg(long, global = true, env = "BOWLINE_PASSWORD_FILE", value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See it at work: a small fleet is started, stopped and killed, and nothing is left.
    ///
    /// Runs are started on a temporary file and stopped in every way there is; the worker is killed
    /// in the middle. Exit code 1 if something is left.
    Demo {
        /// Keep the store, in a new directory of this name.
        #[arg(long)]
        keep: Option<PathBuf>,
        /// Be the worker of a demo, on this file, and talk with it over the pipes.
        #[arg(long, hide = true)]
        worker: Option<PathBuf>,
    },
    List(List),
    Show(Show),
    Start(Start),
    Signal(SignalArgs),
    Query(Query),
    Update(Update),
    Cancel(Cancel),
    Receipt(ReceiptArgs),
    Terminate(Terminate),
    Retry(Retry),
    Orphans(Orphans),
    Serve(Box<Serve>),
    /// Say what is known of a process that has a database open.
    #[command(subcommand)]
    Member(Member),
    /// Make, list and revoke the API keys of `bowline serve --keys`.
    #[command(subcommand)]
    Key(Key),
    /// Check a store file from end to end.
    ///
    /// Exit code 1 if anything is wrong. A database checks itself.
    Check {
        /// The store: a file.
        store: Place,
    },
    /// Copy a store file to a new one, consistent as of one moment.
    ///
    /// Copy a database with its own tools, such as pg_dump.
    Backup {
        /// The store: a file.
        store: Place,
        /// The new file; an existing one is never overwritten.
        to: PathBuf,
    },
    /// Print what a shell needs to complete these commands.
    ///
    ///     bowline completions bash > ~/.local/share/bash-completion/completions/bowline
    ///     bowline completions zsh > ~/.zfunc/_bowline
    ///     bowline completions fish > ~/.config/fish/completions/bowline.fish
    #[command(verbatim_doc_comment)]
    Completions {
        /// For which shell.
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands into a directory.
    ///
    ///     bowline man | man -l -
    ///     bowline man --to /usr/local/share/man/man1
    #[command(verbatim_doc_comment)]
    Man {
        /// The directory, which must be there.
        #[arg(long, value_name = "DIRECTORY")]
        to: Option<PathBuf>,
    },
}

/// What may be said of a process.
#[derive(Debug, Subcommand)]
pub(crate) enum Member {
    /// A process that fell silent is gone, and will not come back: its host was taken away, or
    /// somebody has ended it. What it ran counts as over, and receipts name who said so.
    #[command(group = clap::ArgGroup::new("whom").required(true))]
    Gone {
        /// The store: postgres://user@host/database.
        store: Place,
        /// What it calls itself, as receipts name it.
        #[arg(long, group = "whom")]
        identity: Option<String>,
        /// Every process of this host.
        #[arg(long, group = "whom")]
        host: Option<String>,
        /// Who says so.
        #[arg(long)]
        by: String,
        /// How that is known, in words.
        #[arg(long, default_value = "")]
        reason: String,
    },
}

/// What may be done with API keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make a key, and print it. It is printed once: the file has only its hash. A running server
    /// knows it at once.
    New {
        /// The file with the keys; made if it is missing.
        #[arg(long, env = "BOWLINE_KEYS", value_name = "FILE")]
        keys: PathBuf,
        /// Whose key it is, as causes and the audit log will name it. A name may have two live
        /// keys: the one in use, and the one that takes its place.
        name: String,
        /// What it may do, as NAMESPACE:ROLE, several times if need be. Roles are read, worker,
        /// write (all but administer) and admin, or single rights: start, signal, work, cancel,
        /// cancel_others, terminate, bulk, delete, administer. `*` is every namespace.
        #[arg(long = "allow", required = true, value_name = "NAMESPACE:ROLE")]
        allow: Vec<String>,
        /// After how many days it expires. Without it, it does not.
        #[arg(long, value_name = "DAYS")]
        days: Option<u32>,
    },
    /// List the keys of a file, without their secrets.
    List {
        /// The file with the keys.
        #[arg(long, env = "BOWLINE_KEYS", value_name = "FILE")]
        keys: PathBuf,
    },
    /// Forget a key. A running server refuses it at once.
    Revoke {
        /// The file with the keys.
        #[arg(long, env = "BOWLINE_KEYS", value_name = "FILE")]
        keys: PathBuf,
        /// The id of the key, as `list` shows it: what stands between bwl_ and the next _.
        id: String,
    },
}

#[cfg(test)]
mod tests;
