//! Sets of event ids as ranges: how a cancel names two activities or a hundred thousand.

use std::{
    collections::BTreeMap,
    fmt,
    ops::Bound::{self, Excluded, Included},
};

use minicbor::{Decode, Decoder, Encode, decode::Error as DecodeError};

use crate::EventId;

/// A run of neighbouring ids, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Range {
    /// The first id.
    #[n(0)]
    pub first: EventId,
    /// The last id, not before the first.
    #[n(1)]
    pub last: EventId,
}

/// Ids in ascending order, neighbours folded together.
#[derive(Clone, Default, PartialEq, Eq, Hash, Encode)]
#[cbor(transparent)]
pub struct Ranges(#[n(0)] Vec<Range>);

impl<'b, C> Decode<'b, C> for Ranges {
    fn decode(d: &mut Decoder<'b>, ctx: &mut C) -> Result<Self, DecodeError> {
        let ranges: Vec<Range> = Decode::decode(d, ctx)?;
        // Everybody who reads them relies on this order.
        let forward = ranges.iter().all(|range| range.first <= range.last);
        let apart = ranges.windows(2).all(|pair| {
            let next = pair[0].last.0.checked_add(1);
            next.is_some_and(|next| next < pair[1].first.0)
        });
        match forward && apart {
            true => Ok(Self(ranges)),
            false => Err(DecodeError::message("ranges of ids are out of order")),
        }
    }
}

impl Ranges {
    /// True if no id is in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges, ascending and apart from each other.
    pub fn ranges(&self) -> &[Range] {
        &self.0
    }

    /// How many ids are in it.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|range| range.last.0 - range.first.0 + 1).sum()
    }

    /// Every id, ascending.
    pub fn ids(&self) -> impl Iterator<Item = EventId> {
        self.0.iter().flat_map(|range| (range.first.0..=range.last.0).map(EventId))
    }

    /// True if the id is in it.
    pub fn contains(&self, id: EventId) -> bool {
        let at = self.0.partition_point(|range| range.last < id);
        self.0.get(at).is_some_and(|range| range.first <= id)
    }

    /// Adds an id that is larger than all so far; cheaper than collecting when ids come sorted.
    pub fn push(&mut self, id: EventId) {
        match self.0.last_mut() {
            Some(range) if range.last.plus(1) == id => range.last = id,
            Some(range) => {
                assert!(range.last < id, "ids are pushed in ascending order");
                self.0.push(Range { first: id, last: id });
            }
            None => self.0.push(Range { first: id, last: id }),
        }
    }

    /// These ids without those that `gone` says yes to.
    pub fn without(&self, gone: impl Fn(EventId) -> bool) -> Self {
        self.ids().filter(|id| !gone(*id)).collect()
    }

    /// These ids without a few others, in time that does not grow with how many ids there are.
    pub fn minus(&self, few: &[EventId]) -> Self {
        let mut few: Vec<EventId> = few.to_vec();
        few.sort_unstable();
        let mut kept = Vec::with_capacity(self.0.len() + few.len());
        for range in &self.0 {
            let mut first = range.first;
            let start = few.partition_point(|id| *id < range.first);
            for id in few[start..].iter().take_while(|id| **id <= range.last) {
                if first < *id {
                    kept.push(Range { first, last: EventId(id.0 - 1) });
                }
                first = first.max(id.plus(1));
            }
            if first <= range.last {
                kept.push(Range { first, last: range.last });
            }
        }
        Self(kept)
    }

    /// These ids and those, in time that does not grow with how many ids there are.
    pub fn and(&self, others: &Self) -> Self {
        self.0.iter().chain(&others.0).copied().collect()
    }

    /// How many of a map's keys are in it. What is less is walked through: what is inside, or what
    /// is not.
    pub fn count_in<V>(&self, map: &BTreeMap<EventId, V>) -> u64 {
        let all = map.len() as u64;
        match self.count() < all / 2 {
            true => {
                let inside = |range: &Range| map.range(range.first..=range.last).count() as u64;
                self.0.iter().map(inside).sum()
            }
            false => all - self.gaps().map(|gap| map.range(gap).count() as u64).sum::<u64>(),
        }
    }

    /// Takes what is inside out of a map. Of very many, those that stay are taken out instead.
    pub fn take_from<V>(&self, map: &mut BTreeMap<EventId, V>) -> BTreeMap<EventId, V> {
        if self.count() < map.len() as u64 / 2 {
            return self.ids().filter_map(|id| map.remove_entry(&id)).collect();
        }
        let gaps = self.gaps().flat_map(|gap| map.range(gap));
        let outside: Vec<EventId> = gaps.map(|(id, _)| *id).collect();
        let kept = outside.iter().filter_map(|id| map.remove_entry(id)).collect();
        std::mem::replace(map, kept)
    }

    /// Where no id is: before, between and behind the ranges.
    fn gaps(&self) -> impl Iterator<Item = (Bound<EventId>, Bound<EventId>)> {
        let begins = self.0.iter().map(|range| Excluded(range.last));
        let ends = self.0.iter().map(|range| Excluded(range.first));
        // Neighbours are folded together, so no gap between two ranges is empty; the first may be.
        let first = self.0.first().is_none_or(|range| range.first.0 > 0);
        let skip = usize::from(!first);
        let begins = std::iter::once(Included(EventId(0))).chain(begins);
        begins.zip(ends.chain([Included(EventId(u64::MAX))])).skip(skip)
    }
}

impl FromIterator<Range> for Ranges {
    fn from_iter<I: IntoIterator<Item = Range>>(ranges: I) -> Self {
        let mut ranges: Vec<_> = ranges.into_iter().collect();
        ranges.sort_unstable();
        let mut folded: Vec<Range> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match folded.last_mut() {
                Some(last) if range.first.0 <= last.last.0.saturating_add(1) => {
                    last.last = last.last.max(range.last);
                }
                _ => folded.push(range),
            }
        }
        Self(folded)
    }
}

impl FromIterator<EventId> for Ranges {
    fn from_iter<I: IntoIterator<Item = EventId>>(ids: I) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let mut ranges = Self::default();
        ids.into_iter().for_each(|id| ranges.push(id));
        ranges
    }
}

impl From<EventId> for Ranges {
    fn from(id: EventId) -> Self {
        Self(vec![Range { first: id, last: id }])
    }
}

impl fmt::Debug for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, range) in self.0.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            match range.first == range.last {
                true => write!(f, "{comma}{}", range.first)?,
                false => write!(f, "{comma}{}-{}", range.first, range.last)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[u64]) -> Ranges {
        ids.iter().copied().map(EventId).collect()
    }

    #[test]
    fn neighbours_fold_and_order_does_not_matter() {
        assert_eq!(format!("{:?}", of(&[7, 3, 1, 2, 9, 8])), "1-3,7-9");
        assert_eq!(of(&[1, 2, 3, 7]).count(), 4);
    }

    #[test]
    fn contains_looks_at_the_right_range() {
        let ranges = of(&[1, 2, 3, 7, 8]);
        for (id, expected) in [(0, false), (1, true), (3, true), (4, false), (7, true), (9, false)]
        {
            assert_eq!(ranges.contains(EventId(id)), expected, "{id}");
        }
    }

    #[test]
    fn ranges_that_are_out_of_order_are_not_read() {
        let bytes = |ranges: &[(u64, u64)]| {
            let ranges = ranges
                .iter()
                .map(|(first, last)| Range { first: EventId(*first), last: EventId(*last) });
            minicbor::to_vec(ranges.collect::<Vec<_>>()).unwrap()
        };
        let read = |ranges: &[(u64, u64)]| minicbor::decode::<Ranges>(&bytes(ranges)).ok();
        assert_eq!(read(&[(1, 3), (5, 5)]), Some(of(&[1, 2, 3, 5])));
        for wrong in [&[(3, 1)][..], &[(5, 6), (1, 2)], &[(1, 2), (3, 4)], &[(1, u64::MAX), (2, 3)]]
        {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn ranges_fold_like_their_ids() {
        let sets = [&[][..], &[1, 2], &[3], &[2, 3, 9], &[5, 6, 7, 10], &[8]];
        for one in sets {
            for other in sets {
                let ids = one.iter().chain(other).copied().collect::<Vec<_>>();
                assert_eq!(of(one).and(&of(other)), of(&ids), "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn what_is_inside_leaves_a_map_and_the_rest_stays() {
        let keys = || (0..12).map(|id| (EventId(id), id));
        let sets = [&[][..], &[0], &[3, 4], &[0, 11], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]];
        let more = [&[1, 2, 3, 5, 6, 7, 8, 9, 10][..], &[0, 2, 4, 6, 8, 10, 12, 14], &[20, 21]];
        for ids in sets.into_iter().chain(more) {
            let (ranges, mut map) = (of(ids), keys().collect::<BTreeMap<_, _>>());
            let (inside, outside): (BTreeMap<_, _>, BTreeMap<_, _>) =
                keys().partition(|(id, _)| ids.contains(&id.0));
            assert_eq!(ranges.count_in(&map), inside.len() as u64, "{ids:?}");
            assert_eq!((ranges.take_from(&mut map), map), (inside, outside), "{ids:?}");
        }
    }

    #[test]
    fn minus_agrees_with_without() {
        let ranges = of(&[1, 2, 3, 4, 5, 9, 10, 12]);
        for few in [&[][..], &[1], &[5], &[3, 10], &[12, 9, 1], &[7, 11], &[2, 2]] {
            let few: Vec<_> = few.iter().copied().map(EventId).collect();
            assert_eq!(ranges.minus(&few), ranges.without(|id| few.contains(&id)), "{few:?}");
        }
    }
}
