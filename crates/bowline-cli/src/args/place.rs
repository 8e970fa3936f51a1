//! Where a store is: a file, or a database.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::Deserialize;

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
            assert_eq!(url.parse::<Place>().map(|place| place.to_string()), Ok(shown.into()));
        }
    }
}
