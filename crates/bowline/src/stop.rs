//! A program is told to stop: by Ctrl-C, or by SIGTERM, as systemd, Kubernetes and `kill` say it.

use std::{io, time::Duration};

/// Who says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// Somebody at the terminal.
    CtrlC,
    /// Whoever looks after processes.
    Terminate,
}

impl Word {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CtrlC => "Ctrl-C",
            Self::Terminate => "SIGTERM",
        }
    }

    /// How a process exits that was ended by it: what shells and systemd expect.
    pub(crate) fn exit_code(self) -> i32 {
        match self {
            Self::CtrlC => 130,
            Self::Terminate => 143,
        }
    }
}

/// Hears it, from the moment that this is made.
pub(crate) struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl StopSignals {
    pub(crate) fn open() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    /// Waits for the next word.
    pub(crate) async fn hear(&mut self) -> Word {
        tokio::select! {
            _ = self.interrupt.recv() => Word::CtrlC,
            _ = self.terminate.recv() => Word::Terminate,
        }
    }
}

#[cfg(not(unix))]
impl StopSignals {
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next word.
    pub(crate) async fn hear(&mut self) -> Word {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Word::CtrlC,
            // Nobody can say it then.
            Err(_) => std::future::pending().await,
        }
    }
}

/// Says something to whoever sits at the terminal, or reads what it wrote.
#[expect(clippy::print_stderr, reason = "a program that takes a while to end says why")]
pub(crate) fn say(text: &str) {
    tracing::info!("{text}");
    eprintln!("bowline: {text}");
}

/// Says what was heard and what follows. Whoever says it again does not want to wait.
pub(crate) fn heard(word: Word, is_again: bool, drain: Duration) {
    let name = word.name();
    if is_again {
        say(&format!("{name} again: ended at once; what ran is taken up by the next start"));
        std::process::exit(word.exit_code());
    }
    say(&format!(
        "{name}: no more work is taken, and what runs has {} seconds to finish; a second signal \
         ends at once",
        drain.as_secs()
    ));
}
