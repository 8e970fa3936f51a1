//! The console: a page for browsers, in the binary. It asks the API for everything it shows.
//!
//! In:    `GET` of a page or of one of its files, wherever the router is mounted.
//! Out:   the file, with a policy that lets it load from here and talk to here, and nowhere else.
//! Never: looks at a store; what a page shows is what its reader may ask the API for.

use axum::{
    Router,
    body::Body,
    extract::{OriginalUri, Path, Request},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

/// Nothing is loaded from, sent to or framed by anybody else, and no text becomes code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'self'; form-action 'self'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../console/", $name)))),*]
    };
}

/// Every file but the page itself.
static FILES: &[(&str, &str)] = files![
    "icon.svg",
    "app.js",
    "api.js",
    "dom.js",
    "format.js",
    "live.js",
    "router.js",
    "pages/places.js",
    "pages/receipt.js",
    "pages/run.js",
    "pages/runs.js",
    "parts/actions.js",
    "parts/cancel-tree.js",
    "parts/data-view.js",
    "parts/history.js",
    "parts/log-in.js",
    "parts/pending.js",
    "parts/run-list.js",
    "parts/time-line.js",
    "css/tokens.css",
    "css/shell.css",
    "css/parts.css",
];

/// Where the page says what its links are relative to.
const BASE: &str = "{{base}}";
static PAGE: &str = include_str!("../console/index.html");

/// The console, to be merged with the API's [`router`](crate::router): it has `/`, `/namespaces`,
/// everything below `/ns/`, and its files below `/console/`.
pub fn console() -> Router {
    Router::new()
        .route("/", get(page))
        .route("/namespaces", get(page))
        .route("/ns/{*page}", get(page))
        .route("/console/{*file}", get(file))
}

/// Every address of the console is the same page: its code reads which one it is.
async fn page(OriginalUri(whole): OriginalUri, request: Request) -> Response {
    // Mounted below another path, the page lives there too.
    let own = request.uri().path();
    let base = whole.path().strip_suffix(own).unwrap_or_default();
    let text = PAGE.replace(BASE, &escaped(&format!("{base}/")));
    answer(request.headers(), "text/html; charset=utf-8", text)
}

/// As a value between quotes.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Some((name, text)) = FILES.iter().find(|(own, _)| *own == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let kind = match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "image/svg+xml",
    };
    answer(&headers, kind, (*text).to_owned())
}

fn answer(asked: &HeaderMap, kind: &'static str, text: String) -> Response {
    let tag = tag(&text);
    let known = asked.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|tags| tags.split(',').any(|one| one.trim() == tag));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::ETAG, &tag),
        // Asked for again each time, which costs a few bytes: after an upgrade nobody sees a mix.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    match is_known {
        true => (StatusCode::NOT_MODIFIED, headers, Body::empty()).into_response(),
        false => (headers, text).into_response(),
    }
}

/// Tells this text from every other one: FNV-1a, twice as long as it need be.
fn tag(text: &str) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    let step = |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(PRIME);
    format!("\"{:032x}\"", text.bytes().fold(START, step))
}

#[cfg(test)]
mod tests {
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(router: &Router, path: &str, tag: &str) -> (u16, HeaderMap, String) {
        let request = Request::get(path).header(header::IF_NONE_MATCH, tag);
        let request = request.body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        (parts.status.as_u16(), parts.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn every_file_is_served_once_and_then_known() {
        let console = console();
        for (name, text) in FILES {
            let path = format!("/console/{name}");
            let (status, headers, body) = ask(&console, &path, "").await;
            assert_eq!((status, body.as_str()), (200, *text), "{name}");
            assert_eq!(headers[header::CONTENT_SECURITY_POLICY], POLICY);
            let tag = headers[header::ETAG].to_str().unwrap();
            let (status, _, body) = ask(&console, &path, &format!("\"other\", {tag}")).await;
            assert_eq!((status, body.as_str()), (304, ""), "{name}");
        }
        assert_eq!(ask(&console, "/console/../Cargo.toml", "").await.0, 404);
    }

    #[tokio::test]
    async fn the_page_knows_where_it_is_mounted() {
        let mounted = Router::new().nest("/ops/bowline", console()).merge(console());
        for path in ["/", "/namespaces", "/ns/default/runs/a%2Fb?tab=history"] {
            assert!(ask(&mounted, path, "").await.2.contains("<base href=\"/\">"), "{path}");
        }
        let (status, _, page) = ask(&mounted, "/ops/bowline/ns/default/runs", "").await;
        assert_eq!(status, 200);
        assert!(page.contains("<base href=\"/ops/bowline/\">"), "{page}");
    }

    /// What is in the folder is in the binary, and the first page is small.
    #[test]
    fn no_file_is_forgotten_and_the_first_load_is_small() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
        let mut found = Vec::new();
        for sub in ["", "pages", "parts", "css"] {
            for entry in std::fs::read_dir(folder.join(sub)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
                let is_served = [".js", ".css", ".svg"].iter().any(|end| name.ends_with(end));
                found.extend(is_served.then_some(name));
            }
        }
        found.sort();
        let mut known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(found, known);
        for (name, text) in FILES {
            assert!(!text.contains("innerHTML") && !text.contains("eval("), "{name}");
        }
        let first = first_load();
        assert!(first < 100 * 1024, "{first} bytes");
    }

    /// The page, its styles, and every module that the list of runs imports before it is drawn.
    fn first_load() -> usize {
        let mut wanted = vec!["app.js".to_owned(), "pages/runs.js".to_owned()];
        let mut at = 0;
        while let Some(name) = wanted.get(at).cloned() {
            let text = FILES.iter().find(|(own, _)| *own == name).unwrap().1;
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let path = line.rsplit('\'').nth(1).unwrap();
                let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                let next = match path.strip_prefix("../") {
                    Some(above) => above.to_owned(),
                    None => format!("{folder}/{}", path.trim_start_matches("./")),
                };
                let next = next.trim_start_matches('/').to_owned();
                if !wanted.contains(&next) {
                    wanted.push(next);
                }
            }
            at += 1;
        }
        assert!(wanted.len() > 7, "{wanted:?}");
        let is_first = |name: &str| wanted.iter().any(|one| one == name) || name.starts_with("css");
        let files = FILES.iter().filter(|(name, _)| is_first(name));
        PAGE.len() + files.map(|(_, text)| text.len()).sum::<usize>()
    }
}
