//! Numbers of open things, neighbours folded together: what one turn asked for is one piece,
//! whether that is two calls or a hundred thousand. Each may be put in and taken out for itself.

use std::collections::BTreeMap;

use bowline_core::{EventId, Range, Ranges};

/// A set of numbers: the last of each piece, by its first.
#[derive(Clone, Default)]
pub(crate) struct Numbers(BTreeMap<EventId, EventId>);

impl Numbers {
    pub(crate) fn of(numbers: &Ranges) -> Self {
        Self(numbers.ranges().iter().map(|range| (range.first, range.last)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn contains(&self, number: EventId) -> bool {
        self.piece_of(number).is_some()
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|(first, last)| last.0 - first.0 + 1).sum()
    }

    pub(crate) fn insert(&mut self, number: EventId) {
        if self.contains(number) {
            return;
        }
        let last = self.0.remove(&number.plus(1)).unwrap_or(number);
        let before = self.0.range_mut(..number).next_back();
        match before.filter(|(_, end)| end.plus(1) == number) {
            Some((_, end)) => *end = last,
            None => drop(self.0.insert(number, last)),
        }
    }

    /// Takes a number out. True if it was in.
    pub(crate) fn remove(&mut self, number: EventId) -> bool {
        let Some(Range { first, last }) = self.piece_of(number) else { return false };
        match first == number {
            true => drop(self.0.remove(&first)),
            false => drop(self.0.insert(first, EventId(number.0 - 1))),
        }
        if number < last {
            self.0.insert(number.plus(1), last);
        }
        true
    }

    /// Takes all of these out.
    pub(crate) fn remove_all(&mut self, numbers: &Ranges) {
        for range in numbers.ranges() {
            for Range { first, last } in self.pieces_in(range) {
                self.0.remove(&first);
                if first < range.first {
                    self.0.insert(first, EventId(range.first.0 - 1));
                }
                if last > range.last {
                    self.0.insert(range.last.plus(1), last);
                }
            }
        }
    }

    /// Those that are in both.
    pub(crate) fn common(&self, numbers: &Ranges) -> Ranges {
        let within = |range: &Range| {
            let (from, to) = (range.first, range.last);
            let cut =
                move |Range { first, last }| Range { first: from.max(first), last: to.min(last) };
            self.pieces_in(range).into_iter().map(cut)
        };
        numbers.ranges().iter().flat_map(within).collect()
    }

    pub(crate) fn ranges(&self) -> Ranges {
        self.0.iter().map(|(first, last)| Range { first: *first, last: *last }).collect()
    }

    /// The pieces of which something is in a range.
    fn pieces_in(&self, range: &Range) -> Vec<Range> {
        let begins = self.piece_of(range.first).map_or(range.first, |piece| piece.first);
        let pieces = self.0.range(begins..=range.last);
        pieces.map(|(first, last)| Range { first: *first, last: *last }).collect()
    }

    fn piece_of(&self, number: EventId) -> Option<Range> {
        let (first, last) = self.0.range(..=number).next_back()?;
        (*last >= number).then_some(Range { first: *first, last: *last })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_the_set_that_it_says() {
        let mut seed = 7_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let (mut numbers, mut plain) = (Numbers::default(), BTreeSet::new());
        for _ in 0..5_000 {
            let number = EventId(next(24));
            let few: Ranges = (0..next(6)).map(|_| EventId(next(24))).collect();
            match next(7) {
                0..=3 => {
                    numbers.insert(number);
                    plain.insert(number);
                }
                4 | 5 => assert_eq!(numbers.remove(number), plain.remove(&number)),
                _ => {
                    numbers.remove_all(&few);
                    plain.retain(|number| !few.contains(*number));
                }
            }
            assert_eq!(numbers.ranges(), plain.iter().copied().collect());
            assert_eq!(numbers.count(), plain.len() as u64);
            assert_eq!(numbers.contains(number), plain.contains(&number));
            let common = plain.iter().copied().filter(|number| few.contains(*number));
            assert_eq!(numbers.common(&few), common.collect());
        }
    }
}
