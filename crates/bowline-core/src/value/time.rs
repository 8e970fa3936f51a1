//! Moments and spans. Moments come from outside: nothing here reads a clock.

use std::{fmt, time::Duration};

use minicbor::{Decode, Encode};

/// A moment: microseconds since the Unix epoch.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Time(pub i64);

impl Time {
    /// The last moment there is; "never" in comparisons.
    pub const MAX: Self = Self(i64::MAX);

    /// This moment moved forward, stopping at the end of time instead of wrapping.
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// So long before this moment.
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this moment is; zero if it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}µs", self.0)
    }
}

/// Spans are stored as whole microseconds, in one integer. One that is not whole is stored as two:
/// those, and the nanoseconds beside them.
pub(crate) mod span {
    use super::Duration;
    use minicbor::{
        Decoder, Encoder,
        data::Type,
        decode::Error as DecodeError,
        encode::{Error as EncodeError, Write},
    };

    pub(crate) fn encode<C, W: Write>(
        span: &Duration,
        e: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        match span.subsec_nanos() % 1_000 {
            0 => e.u64(micros)?.ok(),
            beside => e.array(2)?.u64(micros)?.u32(beside)?.ok(),
        }
    }

    pub(crate) fn decode<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Duration, DecodeError> {
        if d.datatype()? != Type::Array {
            return Ok(Duration::from_micros(d.u64()?));
        }
        match d.array()? {
            Some(2) => {
                let micros = Duration::from_micros(d.u64()?);
                Ok(micros.saturating_add(Duration::from_nanos(d.u32()?.into())))
            }
            _ => Err(DecodeError::message("a span is one number, or two")),
        }
    }
}

/// A [`Duration`] in stored form: microseconds, and what is below them where somebody has said so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Span(#[cbor(with = "span")] pub Duration);

impl From<Duration> for Span {
    fn from(span: Duration) -> Self {
        Self(span)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a retry policy says comes back as it was, though no clock here is so fine.
    #[test]
    fn spans_come_back_as_they_were() {
        for nanos in [0, 1, 999, 1_000, 1_001, 1_500_000_000, 1_500_000_001] {
            let span = Span(Duration::from_nanos(nanos));
            let bytes = minicbor::to_vec(span).expect("it fits");
            assert_eq!(minicbor::decode::<Span>(&bytes).expect("it reads"), span);
        }
        let whole = minicbor::to_vec(Span(Duration::from_secs(1))).expect("it fits");
        assert_eq!(whole, minicbor::to_vec(1_000_000u64).expect("it fits"));
        for bad in [&[0x83, 1, 2, 3][..], &[0x81, 1], &[0x61, 0x61]] {
            minicbor::decode::<Span>(bad).expect_err("it is no span");
        }
    }

    #[test]
    fn moments_saturate_at_both_ends() {
        assert_eq!(Time(5).after(Duration::MAX), Time::MAX);
        assert_eq!(Time(5).since(Time(9)), Duration::ZERO);
        assert_eq!(Time(9).since(Time(5)), Duration::from_micros(4));
    }
}
