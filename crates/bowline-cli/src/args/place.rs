//! Where a store is: a file, or a database.

use std::{fmt, path::PathBuf, str::FromStr};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

/// Where a store is.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Place {
    /// In this file.
    File(PathBuf),
    /// In the database behind this URL.
    Postgres(String),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(text.to_owned())),
            Some((scheme, _)) => Err(format!(
                "there is no store behind {scheme}://; give the path of a file, or \
                 postgres://user@host/database"
            )),
            None if text.is_empty() => Err("the path of a file must not be empty".into()),
            None => Ok(Self::File(text.into())),
        }
    }
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Place {
    /// Whether it brings a password.
    pub(crate) fn has_password(&self) -> bool {
        let Self::Postgres(url) = self else { return false };
        let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let who = place.rsplit_once('@').map_or("", |(who, _)| who);
        who.contains(':') || query.split('&').any(|pair| pair.starts_with("password="))
    }

    /// The same place with a password, where it has none.
    pub(crate) fn with_password(self, password: &str) -> Self {
        match self {
            Self::Postgres(url) if !Self::Postgres(url.clone()).has_password() => {
                let sign = if url.contains('?') { '&' } else { '?' };
                let password = utf8_percent_encode(password, NON_ALPHANUMERIC);
                Self::Postgres(format!("{url}{sign}password={password}"))
            }
            other => other,
        }
    }
}

/// As for people: nobody prints a password by accident.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// For people, and for logs: a password is not shown.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                // What follows the question mark may hold a password too.
                let rest = rest.split('?').next().unwrap_or_default();
                let (who, place) = rest.rsplit_once('@').unwrap_or(("", rest));
                match who.split(':').next() {
                    Some("") | None => write!(f, "{scheme}://{place}"),
                    Some(user) => write!(f, "{scheme}://{user}@{place}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_databases_are_told_apart() {
        assert_eq!("runs.db".parse(), Ok(Place::File("runs.db".into())));
        assert_eq!("./a:b.db".parse(), Ok(Place::File("./a:b.db".into())));
        let url = "postgresql://localhost/runs";
        assert_eq!(url.parse(), Ok(Place::Postgres(url.into())));
        let refused = "mysql://localhost".parse::<Place>().unwrap_err();
        assert!(refused.contains("mysql://") && refused.contains("postgres://"), "{refused}");
        assert!("".parse::<Place>().is_err());
    }

    #[test]
    fn no_password_is_shown() {
        for (url, shown) in [
            ("postgres://me:p@ss@host:5432/runs?sslmode=require", "postgres://me@host:5432/runs"),
            ("postgres://host/runs?password=secret", "postgres://host/runs"),
            ("postgres://me@host/runs", "postgres://me@host/runs"),
        ] {
            let place = url.parse::<Place>().expect("it is one");
            assert_eq!(place.to_string(), shown);
            assert_eq!(format!("{place:?}"), format!("Place({shown})"));
        }
    }

    #[test]
    fn a_password_is_put_where_there_is_none() {
        let place = |url: &str| url.parse::<Place>().expect("it is one");
        let with = |url: &str| place(url).with_password("p@s s");
        let Place::Postgres(url) = with("postgres://me@host/runs") else { panic!("a database") };
        assert_eq!(url, "postgres://me@host/runs?password=p%40s%20s");
        let Place::Postgres(url) = with("postgres://host/r?sslmode=require") else { panic!() };
        assert_eq!(url, "postgres://host/r?sslmode=require&password=p%40s%20s");
        for has in ["postgres://me:x@host/runs", "postgres://host/runs?a=b&password=x"] {
            assert!(place(has).has_password(), "{has}");
            assert_eq!(with(has), place(has));
        }
        for has_none in ["postgres://me@host:5432/runs", "postgres://host:5432/runs", "runs.db"] {
            assert!(!place(has_none).has_password(), "{has_none}");
        }
        assert_eq!(with("runs.db"), place("runs.db"));
    }
}
