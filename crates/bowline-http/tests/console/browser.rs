//! A real browser, headless, as a test sees it: it goes somewhere, waits for what must appear, and
//! tells what went wrong on the page.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    wd::{TimeoutConfiguration, WebDriverCompatibleCommand},
};
use serde_json::{Value, json};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(120);

/// Says where the driver is; without it there is no browser to be had.
const VARIABLE: &str = "BOWLINE_CHROMEDRIVER";

/// A browser with one window.
pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Child,
    profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A test that failed has closed nothing, and the browser outlives its driver. A running one
        // writes its own number beside its data: the host's name, a dash and the number.
        let lock = std::fs::read_link(self.profile.path().join("SingletonLock")).ok();
        let lock = lock.and_then(|lock| lock.into_os_string().into_string().ok());
        if let Some((_, number)) = lock.as_deref().and_then(|lock| lock.rsplit_once('-')) {
            let _ = Command::new("kill").args(["-9", number]).status();
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// None where the machine has no browser, which is said.
    pub(crate) async fn open() -> Option<Self> {
        let path = match std::env::var_os(VARIABLE) {
            Some(path) => PathBuf::from(path),
            None => {
                #[allow(clippy::print_stderr)]
                {
                    eprintln!("SKIPPED: {VARIABLE} is not set: `cargo xtask test` sets it");
                }
                return None;
            }
        };
        let mut driver = Command::new(path)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the driver begins");
        let lines = BufReader::new(driver.stdout.take().expect("its output")).lines();
        let port = lines.map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("it names its port");
        let profile = tempfile::tempdir().expect("a folder");
        let data = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1280,800",
            &data,
        ];
        let wanted = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let Value::Object(wanted) = wanted else { unreachable!("it is one") };
        let mut builder =
            ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        builder.capabilities(wanted);
        let client = builder.connect(&format!("http://127.0.0.1:{port}")).await;
        let client = client.expect("the browser begins");
        let limits = TimeoutConfiguration::default();
        client.update_timeouts(limits).await.expect("it is told");
        Some(Self { client, driver, profile })
    }

    pub(crate) async fn goto(&self, address: &str) {
        self.client.goto(address).await.expect("it goes there");
    }

    /// Waits until something appears.
    #[track_caller]
    pub(crate) fn sees(&self, css: &str) -> impl Future<Output = fantoccini::elements::Element> {
        let (client, css) = (self.client.clone(), css.to_owned());
        async move {
            let found = client.wait().at_most(PATIENCE).for_element(Locator::Css(&css)).await;
            match found {
                Ok(found) => found,
                Err(error) => {
                    let body = client.find(Locator::Css("body")).await.expect("a page");
                    let text = body.text().await.unwrap_or_default();
                    panic!("{css} did not appear ({error}); the page says:\n{text}")
                }
            }
        }
    }

    pub(crate) async fn click(&self, css: &str) {
        self.sees(css).await.click().await.unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    pub(crate) async fn types(&self, css: &str, text: &str) {
        self.sees(css).await.send_keys(text).await.unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    pub(crate) async fn run(&self, code: &str) -> Value {
        self.client.execute(code, Vec::new()).await.expect("the code runs")
    }

    /// What the browser has logged since it was last asked: errors, refused loads, warnings.
    pub(crate) async fn complaints(&self) -> Vec<String> {
        let log = self.client.issue_cmd(Log).await.expect("it has a log");
        let lines = log.as_array().cloned().unwrap_or_default();
        let is_bad = |line: &&Value| line["level"] == "SEVERE" || line["level"] == "WARNING";
        lines.iter().filter(is_bad).map(|line| line["message"].to_string()).collect()
    }

    /// Requests of this page that went elsewhere.
    pub(crate) async fn strangers(&self) -> Value {
        self.run(
            "return performance.getEntriesByType('resource').map((one) => one.name)
                .filter((name) => new URL(name).origin !== location.origin)",
        )
        .await
    }

    /// Writes how the page looks into a file beside the build.
    pub(crate) async fn picture(&self, name: &str) {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("console");
        std::fs::create_dir_all(&folder).expect("a folder");
        let png = self.client.screenshot().await.expect("a picture");
        std::fs::write(folder.join(format!("{name}.png")), png).expect("it is written");
    }

    pub(crate) async fn close(self) {
        self.client.clone().close().await.expect("it closes");
    }
}

/// Chromium's own way to its log.
#[derive(Debug)]
struct Log;

impl WebDriverCompatibleCommand for Log {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (hyper::Method, Option<String>) {
        (hyper::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}
