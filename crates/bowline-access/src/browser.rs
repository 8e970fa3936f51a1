//! What only browsers do: cookies, and requests that another site's page has made.

use http::{HeaderMap, Method, header};

/// The cookie of the console. Its name binds it to this host, and to encryption.
pub const COOKIE: &str = "__Host-bowline";

/// What is sent so that a browser keeps a credential: for this site's own requests only, and out
/// of reach of any script.
pub fn set_cookie(credential: &str) -> String {
    format!("{COOKIE}={credential}; Path=/; Secure; HttpOnly; SameSite=Strict")
}

/// Whether a browser keeps it: what is longer than a cookie may be, or has characters that end one,
/// it does not.
pub fn fits_cookie(credential: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte);
    set_cookie(credential).len() <= 4096 && credential.bytes().all(is_plain)
}

/// What is sent so that a browser forgets it.
pub fn forget_cookie() -> String {
    format!("{COOKIE}=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0")
}

/// The credential that a cookie brings.
pub fn cookie(headers: &HeaderMap) -> Option<&str> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}

/// Whether a page of another site has made a request that may change something. Programs that are
/// no browsers send neither header.
pub fn is_foreign(method: &Method, headers: &HeaderMap) -> bool {
    if method.is_safe() {
        return false;
    }
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text(header::HeaderName::from_static("sec-fetch-site")) {
        return !matches!(site, "same-origin" | "none");
    }
    let Some(origin) = text(header::ORIGIN) else { return false };
    let own = origin.split_once("://").map(|(_, host)| host);
    own.is_none() || own != text(header::HOST)
}

/// Whether the host that a request names is one of this machine's own names. A page whose name was
/// bound to this machine a moment ago names itself.
pub fn is_local_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else {
        return true;
    };
    let name = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_address = name.parse::<std::net::IpAddr>().is_ok();
    is_address || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (header::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_foreign_page_changes_nothing() {
        let foreign = |pairs| is_foreign(&Method::POST, &headers(pairs));
        assert!(foreign(&[("sec-fetch-site", "cross-site")]));
        assert!(foreign(&[("sec-fetch-site", "same-site")]));
        assert!(!foreign(&[("sec-fetch-site", "same-origin")]));
        assert!(foreign(&[("origin", "https://evil.example"), ("host", "bowline:8233")]));
        assert!(foreign(&[("origin", "null"), ("host", "bowline:8233")]));
        assert!(!foreign(&[("origin", "https://bowline:8233"), ("host", "bowline:8233")]));
        assert!(!foreign(&[]), "a program");
        let read = headers(&[("sec-fetch-site", "cross-site")]);
        assert!(!is_foreign(&Method::GET, &read), "what is safe has its own defence: no CORS");
    }

    #[test]
    fn names_that_were_bound_to_this_machine_are_not_its_own() {
        let local = |host| is_local_host(&headers(&[("host", host)]));
        for own in ["localhost", "localhost:8233", "127.0.0.1:8233", "[::1]:8233", "10.0.0.7"] {
            assert!(local(own), "{own}");
        }
        for foreign in ["evil.example:8233", "localhost.evil.example", "127.0.0.1.evil.example"] {
            assert!(!local(foreign), "{foreign}");
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let sent = headers(&[("cookie", "a=b; __Host-bowline=bwl_1_2; c=d")]);
        assert_eq!(cookie(&sent), Some("bwl_1_2"));
        assert_eq!(cookie(&headers(&[("cookie", "x__Host-bowline=1")])), None);
        assert!(fits_cookie("bwl_1_2") && fits_cookie("a.b-c_d"));
        assert!(!fits_cookie("a; Path=/x") && !fits_cookie("a\r\nb") && !fits_cookie("é"));
        assert!(!fits_cookie(&"x".repeat(4090)));
        assert!(
            set_cookie("k").contains("SameSite=Strict") && set_cookie("k").contains("HttpOnly")
        );
    }
}
