//! Whether two JSON texts differ in more than the order in which objects have their members.
//!
//! A `HashMap` is written in an order of its own by every process. That is no other input: whoever
//! reads it has the same map.

/// How deep values may be nested for their order to be looked at.
const DEPTH_MAX: u32 = 128;

/// True if both are the same value, as far as can be seen. Both come from one writer, so spaces and
/// the spelling of numbers count.
pub(crate) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one == other
        || (one.len() == other.len() && ordered(one).is_some_and(|one| ordered(other) == Some(one)))
}

/// The text with the members of all objects in one order; none if it is no JSON.
fn ordered(text: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(DEPTH_MAX)?;
    (reader.at == text.len()).then_some(value)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: u32) -> Option<Vec<u8>> {
        match self.text.get(self.at)? {
            b'{' => self.items(depth.checked_sub(1)?, b'}', true),
            b'[' => self.items(depth.checked_sub(1)?, b']', false),
            b'"' => self.string(),
            _ => {
                let rest = &self.text[self.at..];
                let end = rest.iter().position(|byte| b",]}:\"[{".contains(byte));
                let end = end.unwrap_or(rest.len());
                self.at += end;
                (end > 0).then(|| rest[..end].to_vec())
            }
        }
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        let from = self.at;
        loop {
            self.at += 1;
            match self.text.get(self.at)? {
                b'\\' => self.at += 1,
                b'"' => break,
                _ => {}
            }
        }
        self.at += 1;
        self.text.get(from..self.at).map(<[u8]>::to_vec)
    }

    /// What stands between two brackets; members of objects are put into order.
    fn items(&mut self, depth: u32, close: u8, members: bool) -> Option<Vec<u8>> {
        let open = self.text[self.at];
        self.at += 1;
        let mut items = Vec::new();
        while *self.text.get(self.at)? != close {
            if !items.is_empty() {
                self.skip(b',')?;
            }
            let mut item = Vec::new();
            if members {
                item = self.string().filter(|key| key.starts_with(b"\""))?;
                self.skip(b':')?;
                item.push(b':');
            }
            item.extend(self.value(depth)?);
            items.push(item);
        }
        self.at += 1;
        if members {
            items.sort();
        }
        let mut text = vec![open];
        text.extend(items.join(&b','));
        text.push(close);
        Some(text)
    }

    fn skip(&mut self, byte: u8) -> Option<()> {
        (*self.text.get(self.at)? == byte).then(|| self.at += 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str, same: bool) {
        assert_eq!(is_same(one.as_bytes(), other.as_bytes()), same, "{one} and {other}");
    }

    #[test]
    fn only_the_order_of_members_is_free() {
        check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, true);
        check(r#"{"a":1,"b":2}"#, r#"{"b":1,"a":2}"#, false);
        check(r#"[{"a":[],"b":{}},1]"#, r#"[{"b":{},"a":[]},1]"#, true);
        check("[1,2]", "[2,1]", false);
        check(r#"{"k":{"a":1,"b":[3]},"l":0}"#, r#"{"l":0,"k":{"b":[3],"a":1}}"#, true);
        check(r#"{"a":"},{\"","b":"\\"}"#, r#"{"b":"\\","a":"},{\""}"#, true);
        check(r#""ab""#, r#""ba""#, false);
        check("12", "21", false);
        check("null", "null", true);
    }

    #[test]
    fn what_is_no_json_is_only_the_same_as_itself() {
        for broken in ["{", "{}}", "{1:2}", "[,]", "", "\"", "\"\\", "{\"a\"}", "[1 ", "{\"a\":}"] {
            check(broken, broken, true);
            let other: String = broken.chars().rev().collect();
            check(broken, &other, broken == other);
        }
        let deep = "[".repeat(100_000);
        check(&deep, &format!("{}]", &deep[1..]), false);
    }
}
