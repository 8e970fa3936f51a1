//! The default names of functions and errors, taken from their paths.
//!
//! `type_name` is not promised to stay the same between compilers, so it only makes defaults, once,
//! at registration; calls find a function's name by its `TypeId`.

use std::any::type_name;

/// The name of a function by its path: the last part, or `Type::method`. An error says why a
/// function needs a name that is given explicitly.
pub(crate) fn of_function<F>() -> Result<String, String> {
    default(type_name::<F>())
}

fn default(path: &str) -> Result<String, String> {
    let why = match path {
        closure if closure.contains("{{closure}}") => "a closure has no name of its own",
        pointer if pointer.starts_with("fn(") || pointer.starts_with("for<") => {
            "a function pointer has no name of its own"
        }
        method if method.starts_with('<') => "a trait's method has one path for many functions",
        generic if generic.contains('<') => "a generic function has one path for many functions",
        path => return Ok(short(path)),
    };
    Err(format!("`{path}` needs an explicit name, because {why}"))
}

fn short(path: &str) -> String {
    let mut parts = path.rsplit("::");
    let last = parts.next().unwrap_or(path);
    match parts.next() {
        Some(owner) if owner.starts_with(char::is_uppercase) => format!("{owner}::{last}"),
        _ => last.to_owned(),
    }
}

/// The name of an error's type, without its path and its parameters.
pub(crate) fn kind<E: ?Sized>() -> String {
    let path = type_name::<E>();
    let path = path.split('<').next().unwrap_or(path);
    path.rsplit("::").next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_short_name() {
        assert_eq!(default("shop::orders::charge").unwrap(), "charge");
        assert_eq!(default("shop::orders::Agency::flight").unwrap(), "Agency::flight");
    }

    #[test]
    fn what_has_no_path_of_its_own_needs_a_name() {
        for (path, why) in [
            ("shop::main::{{closure}}", "closure"),
            ("shop::send<shop::Mail>", "generic"),
            ("<shop::Mail as shop::Send>::send", "trait"),
            ("fn(u8) -> u8", "pointer"),
        ] {
            let error = default(path).unwrap_err();
            assert!(error.contains(why) && error.contains(path), "{error}");
        }
    }

    #[test]
    fn the_kind_of_an_error_is_its_type_alone() {
        assert_eq!(kind::<std::io::Error>(), "Error");
        assert_eq!(kind::<Option<u8>>(), "Option");
    }
}
