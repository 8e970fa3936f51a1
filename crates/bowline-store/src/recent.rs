//! What was used lately, in a bounded room.

use std::{collections::HashMap, hash::Hash};

/// The last `MOST` of something, and perhaps as many again that came before. Two generations: when
/// the younger one is full it becomes the older, and what was not asked for since is forgotten.
#[derive(Debug)]
pub struct Recent<K, V, const MOST: usize> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V, const MOST: usize> Default for Recent<K, V, MOST> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V, const MOST: usize> Recent<K, V, MOST> {
    /// Keeps something, as the youngest.
    pub fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    /// What is known under this key. It is young again.
    pub fn find(&mut self, key: &K) -> Option<V>
    where
        K: Clone,
        V: Clone,
    {
        if let Some(value) = self.young.get(key) {
            return Some(value.clone());
        }
        let value = self.old.remove(key)?;
        self.put(key.clone(), value.clone());
        Some(value)
    }

    /// The same, and forgets it.
    pub fn take(&mut self, key: &K) -> Option<V> {
        let old = self.old.remove(key);
        self.young.remove(key).or(old)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_ones_are_kept() {
        let mut recent = Recent::<_, _, 2>::default();
        for key in 0..5 {
            recent.put(key, "first");
        }
        assert_eq!((recent.young.len(), recent.old.len()), (1, 2), "0 and 1 are forgotten");
        recent.put(3, "second");
        assert_eq!(recent.take(&3), Some("second"));
        assert_eq!((recent.take(&3), recent.find(&0)), (None, None), "each is given once");
        assert_eq!(recent.take(&2), Some("first"));
    }

    #[test]
    fn what_is_asked_for_stays() {
        let mut recent = Recent::<_, _, 2>::default();
        recent.put(0, "asked for");
        for key in 1..10 {
            recent.put(key, "not asked for");
            assert_eq!(recent.find(&0), Some("asked for"));
        }
        assert_eq!(recent.find(&1), None);
        recent.clear();
        assert_eq!(recent.find(&0), None);
    }
}
