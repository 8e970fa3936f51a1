//! Just enough of DER to find a name in a certificate and the key in a public key.

/// The kinds of values that are looked for.
pub(crate) mod tag {
    pub(crate) const BITS: u8 = 0x03;
    pub(crate) const OID: u8 = 0x06;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;
}

/// Takes one value: its kind, and what is in it.
pub(crate) fn take<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[kind, first], after) = rest.split_first_chunk::<2>()?;
    let (length, after) = match first {
        0..=0x7f => (usize::from(first), after),
        // Two bytes of length are enough for anything that is looked at here.
        0x81 => (usize::from(*after.first()?), &after[1..]),
        0x82 => {
            let (two, after) = after.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*two)), after)
        }
        _ => return None,
    };
    let (value, after) = after.split_at_checked(length)?;
    *rest = after;
    Some((kind, value))
}

/// Takes one value of a kind.
pub(crate) fn expect<'a>(kind: u8, rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (found, value) = take(rest)?;
    (found == kind).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_taken_and_bad_ones_are_not() {
        let mut rest = &[0x30, 0x03, 0x06, 0x01, 0x2a, 0x05, 0x00][..];
        let mut inner = expect(tag::SEQUENCE, &mut rest).expect("a sequence");
        assert_eq!(expect(tag::OID, &mut inner), Some(&[0x2a][..]));
        assert_eq!(take(&mut rest), Some((0x05, &[][..])));
        assert_eq!(take(&mut rest), None);
        for bad in [
            &[0x30][..],
            &[0x30, 0x02, 0x01],
            &[0x30, 0x80],
            &[0x30, 0x82, 0x01],
            &[0x30, 0x84, 0, 0, 0, 0],
        ] {
            assert_eq!(take(&mut &*bad), None, "{bad:?}");
        }
        let long = [&[0x04, 0x81, 0x80][..], &[7; 0x80]].concat();
        assert_eq!(take(&mut &*long).map(|(_, value)| value.len()), Some(0x80));
    }
}
