//! A headless Chromium and its driver, for the tests of the console: found on the machine, or
//! fetched by Debian's package manager.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use super::{Ready, Step};
use crate::print;

pub(super) const STEP: Step = Step {
    name: "chromium",
    about: "Chromium and its driver, for tests of the console (BOWLINE_CHROMEDRIVER)",
    wanted_by: &["bowline-http"],
    prepare,
};

const DRIVER: &str = "chromedriver";

fn prepare() -> Result<Ready> {
    if !is_there() {
        print::line("chromium: not found on this machine; asking its package manager");
        fetch();
    }
    let environment = match is_there() {
        true => vec![("BOWLINE_CHROMEDRIVER", DRIVER.into())],
        false if std::env::var_os("CI").is_some() => {
            bail!("Chromium and its driver are neither installed nor could they be fetched")
        }
        false => {
            print::line("SKIPPED: tests of the console: there is no Chromium with a driver");
            Vec::new()
        }
    };
    Ok(Ready { environment, guard: Box::new(()) })
}

fn is_there() -> bool {
    let browsers = ["chromium", "google-chrome", "chromium-browser"];
    runs(Command::new(DRIVER).arg("--version"))
        && browsers.iter().any(|name| runs(Command::new(name).arg("--version")))
}

/// As the superuser, where that needs no password.
fn fetch() {
    let wanted = ["install", "-y", "-qq", "--no-install-recommends", "chromium", "chromium-driver"];
    for arguments in [&["update", "-qq"][..], &wanted] {
        if !runs(Command::new("apt-get").args(arguments)) {
            runs(Command::new("sudo").args(["-n", "apt-get"]).args(arguments));
        }
    }
}

fn runs(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
