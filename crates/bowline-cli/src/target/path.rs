//! Addresses of the API.

use std::fmt::Display;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// An address, in the making.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    text: String,
    /// What it is about, for people.
    subject: Option<String>,
    has_options: bool,
}

/// Everything of a namespace.
pub(crate) fn space(namespace: &str) -> Path {
    let root = Path { text: "/api/v1/namespaces".to_owned(), subject: None, has_options: false };
    root.then(namespace)
}

/// A run: the newest of a workflow id, or the very one that `@` and its id name.
pub(crate) fn run(namespace: &str, id: &str) -> Path {
    Path { subject: Some(id.to_owned()), ..space(namespace).then("runs").then(id) }
}

/// The receipt of a cancel.
pub(crate) fn receipt(namespace: &str, id: &str) -> Path {
    Path { subject: Some(id.to_owned()), ..space(namespace).then("receipts").then(id) }
}

impl Path {
    /// The same, one step further.
    pub(crate) fn then(mut self, step: &str) -> Self {
        self.text.push('/');
        self.text.extend(utf8_percent_encode(step, NON_ALPHANUMERIC));
        self
    }

    /// The same with an option.
    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        self.text.push(if self.has_options { '&' } else { '?' });
        self.text.push_str(name);
        self.text.push('=');
        self.text.extend(utf8_percent_encode(&value.to_string(), NON_ALPHANUMERIC));
        self.has_options = true;
        self
    }

    /// The same with an option, if there is one.
    pub(crate) fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What it is about, for people.
    pub(super) fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_have_anything_in_it() {
        let path = run("a b", "order/7?x=ü").then("history").with("from", 3).with("id", "&");
        let escaped = "/api/v1/namespaces/a%20b/runs/order%2F7%3Fx%3D%C3%BC/history?from=3&id=%26";
        assert_eq!(path.text(), escaped);
    }
}
