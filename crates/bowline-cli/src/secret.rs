//! Passwords: from the environment or a file, and never from the command line, which everybody on
//! the machine can read.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use anyhow::{Context, Result, bail};

use crate::args::Place;

/// Where other programs for this database look for its password.
const VARIABLE: &str = "PGPASSWORD";

/// The password of a database, if somebody has said one.
pub(crate) fn password(file: Option<&Path>) -> Result<Option<String>> {
    let Some(path) = file else {
        return Ok(std::env::var(VARIABLE).ok().filter(|said| !said.is_empty()));
    };
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("the password file {} cannot be read", path.display()))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        bail!("the password file {} is empty", path.display());
    }
    Ok(Some(text.to_owned()))
}

/// Refuses a password among the words of a command.
pub(crate) fn is_unspoken(words: impl Iterator<Item = OsString>) -> Result<()> {
    let has_one = |word: &OsStr| {
        let word = word.to_string_lossy();
        // Behind the name of an option, or alone.
        let value = match word.strip_prefix("--").and_then(|rest| rest.split_once('=')) {
            Some((_, value)) => value,
            None => &word,
        };
        value.parse::<Place>().is_ok_and(|place| place.has_password())
    };
    for word in words {
        if has_one(&word) {
            bail!(
                "a password on the command line can be read by everybody on this machine: leave \
                 it out of the URL, and put it into {VARIABLE} or a file (--password-file)"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_spoken() {
        let spoken = |words: &[&str]| is_unspoken(words.iter().map(OsString::from));
        for words in [
            &["bowline", "list", "postgres://me:secret@db/runs"][..],
            &["bowline", "serve", "--store", "postgres://db/runs?password=secret"],
            &["bowline", "serve", "--store=postgres://me:secret@db/runs"],
        ] {
            let refused = spoken(words).expect_err("it is seen").to_string();
            assert!(refused.contains("PGPASSWORD") && !refused.contains("secret"), "{refused}");
        }
        spoken(&["bowline", "list", "postgres://me@db:5432/runs"]).expect("there is none");
        spoken(&["bowline", "cancel", "a:b@c", "--reason", "a:b@c"]).expect("no URL");
    }

    #[test]
    fn a_file_has_a_password() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        password(Some(&path)).expect_err("it is not there");
        std::fs::write(&path, "\n").expect("it is written");
        password(Some(&path)).expect_err("it is empty");
        std::fs::write(&path, "p@ss word\n").expect("it is written");
        assert_eq!(password(Some(&path)).expect("it reads").as_deref(), Some("p@ss word"));
    }
}
