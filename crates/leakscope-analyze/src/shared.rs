//! Small sorted maps and sets whose copies share their memory until one of
//! them changes. Cases are copied at every branch and call, and most of what is
//! in them stays as it was.

use std::cmp::Ordering;
use std::sync::Arc;

/// What a list is sorted by: a number, so that a comparison is one step without
/// branches.
pub trait Key: Copy {
    type Order: Ord;
    fn order(self) -> Self::Order;
}

/// A sorted list of pairs, each key once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Map<K, V>(Option<Arc<Vec<(K, V)>>>);

/// A sorted list, each element once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Set<K>(Map<K, ()>);

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Map(None)
    }
}

impl<K, V> Map<K, V> {
    fn pairs(&self) -> &[(K, V)] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    pub fn len(&self) -> usize {
        self.pairs().len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> + Clone {
        self.pairs().iter().map(|(key, value)| (key, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.pairs().iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.pairs().iter().map(|(_, value)| value)
    }

    /// Whether both are copies that nobody changed; a quick yes.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (own, others) => own.is_none() && others.is_none(),
        }
    }

    pub fn clear(&mut self) {
        self.0 = None;
    }
}

impl<K: Key, V: Clone> Map<K, V> {
    /// Of pairs that are sorted, each key once.
    pub fn of_sorted(pairs: Vec<(K, V)>) -> Self {
        debug_assert!(pairs.is_sorted_by(|one, next| one.0.order() < next.0.order()));
        Map((!pairs.is_empty()).then(|| Arc::new(pairs)))
    }

    fn position(&self, key: &K) -> Result<usize, usize> {
        self.pairs().binary_search_by_key(&key.order(), |(known, _)| known.order())
    }

    fn pairs_mut(&mut self) -> &mut Vec<(K, V)> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.position(key).ok().map(|index| &self.pairs()[index].1)
    }

    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let index = self.position(key).ok()?;
        Some(&mut self.pairs_mut()[index].1)
    }

    pub fn contains_key(&self, key: &K) -> bool {
        self.position(key).is_ok()
    }

    /// What the key had before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(index) => Some(std::mem::replace(&mut self.pairs_mut()[index].1, value)),
            Err(index) => {
                self.pairs_mut().insert(index, (key, value));
                None
            }
        }
    }

    pub fn remove(&mut self, key: &K) -> Option<V> {
        let index = self.position(key).ok()?;
        let (_, value) = self.pairs_mut().remove(index);
        self.0.take_if(|pairs| pairs.is_empty());
        Some(value)
    }

    pub fn retain(&mut self, is_kept: impl Fn(&K, &V) -> bool) {
        if !self.iter().all(|(key, value)| is_kept(key, value)) {
            self.pairs_mut().retain(|(key, value)| is_kept(key, value));
            self.0.take_if(|pairs| pairs.is_empty());
        }
    }

    /// Changes the values that are to be changed.
    pub fn update(&mut self, is_meant: impl Fn(&K, &V) -> bool, change: impl Fn(&mut V)) {
        if let Some(first) = self.pairs().iter().position(|(key, value)| is_meant(key, value)) {
            for (key, value) in &mut self.pairs_mut()[first..] {
                if is_meant(key, value) {
                    change(value);
                }
            }
        }
    }

    /// Keys that only one of both has, or whose values are not the same, sorted.
    pub fn apart(&self, other: &Self, is_same: impl Fn(&V, &V) -> bool) -> Vec<K> {
        let (mut own, mut others) = (self.pairs(), other.pairs());
        let mut apart = Vec::new();
        while let ([(key, value), own_rest @ ..], [(other_key, other_value), other_rest @ ..]) = (own, others)
        {
            match key.order().cmp(&other_key.order()) {
                Ordering::Less => {
                    apart.push(*key);
                    own = own_rest;
                }
                Ordering::Greater => {
                    apart.push(*other_key);
                    others = other_rest;
                }
                Ordering::Equal => {
                    if !is_same(value, other_value) {
                        apart.push(*key);
                    }
                    (own, others) = (own_rest, other_rest);
                }
            }
        }
        apart.extend(own.iter().chain(others).map(|(key, _)| *key));
        apart
    }

    /// Pairs from `key` on.
    pub fn starting_at(&self, key: K) -> impl Iterator<Item = (&K, &V)> {
        let start = self.position(&key).unwrap_or_else(|index| index);
        self.pairs()[start..].iter().map(|(key, value)| (key, value))
    }
}

impl<K: Key, V: Clone> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        pairs.into_iter().for_each(|(key, value)| drop(self.insert(key, value)));
    }
}

impl<K> Default for Set<K> {
    fn default() -> Self {
        Set(Map::default())
    }
}

impl<K> Set<K> {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &K> {
        self.0.keys()
    }
}

impl<K: Key> Set<K> {
    pub fn contains(&self, element: &K) -> bool {
        self.0.contains_key(element)
    }

    /// Whether it was not in before.
    pub fn insert(&mut self, element: K) -> bool {
        !self.contains(&element) && self.0.insert(element, ()).is_none()
    }

    pub fn remove(&mut self, element: &K) {
        self.0.remove(element);
    }

    pub fn retain(&mut self, is_kept: impl Fn(&K) -> bool) {
        self.0.retain(|element, ()| is_kept(element));
    }

    /// Drops what is not in `other`.
    pub fn intersect(&mut self, other: &Set<K>) {
        if self.alone(other).0 > 0 {
            self.retain(|element| other.contains(element));
        }
    }

    /// Adds what is in `other`; whether that was anything new.
    pub fn unite(&mut self, other: &Set<K>) -> bool {
        match self.alone(other) {
            (_, 0) => return false,
            (0, _) => *self = other.clone(),
            (_, new) => {
                let mut all = Vec::with_capacity(self.len() + new);
                let mut others = other.0.pairs();
                for &(element, ()) in self.0.pairs() {
                    let order = element.order();
                    let before = others.iter().take_while(|(other, ())| other.order() < order).count();
                    let (earlier, rest) = others.split_at(before);
                    all.extend_from_slice(earlier);
                    all.push((element, ()));
                    let is_both = rest.first().is_some_and(|(other, ())| other.order() == order);
                    others = &rest[usize::from(is_both)..];
                }
                all.extend_from_slice(others);
                *self = Set(Map::of_sorted(all));
            }
        }
        true
    }

    /// How many elements are in only one of both.
    pub fn difference(&self, other: &Set<K>) -> usize {
        let (own, others) = self.alone(other);
        own + others
    }

    /// How many elements only this set has, and how many only the other.
    fn alone(&self, other: &Set<K>) -> (usize, usize) {
        if self.0.is_same(&other.0) {
            return (0, 0);
        }
        let (own, others) = (self.0.pairs(), other.0.pairs());
        let (mut index, mut other_index, mut both) = (0, 0, 0);
        while index < own.len() && other_index < others.len() {
            let (element, other) = (own[index].0.order(), others[other_index].0.order());
            both += usize::from(element == other);
            index += usize::from(element <= other);
            other_index += usize::from(other <= element);
        }
        (own.len() - both, others.len() - both)
    }
}

impl<K: Key> FromIterator<K> for Set<K> {
    fn from_iter<I: IntoIterator<Item = K>>(elements: I) -> Self {
        let mut all: Vec<(K, ())> = elements.into_iter().map(|element| (element, ())).collect();
        all.sort_unstable_by_key(|(element, ())| element.order());
        all.dedup_by_key(|(element, ())| element.order());
        Set(Map::of_sorted(all))
    }
}

impl<K: Key> Extend<K> for Set<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, elements: I) {
        for element in elements {
            self.insert(element);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Key for u32 {
        type Order = u32;
        fn order(self) -> u32 {
            self
        }
    }

    #[test]
    fn copies_change_apart() {
        let mut one: Map<u32, &str> = Map::default();
        one.extend([(3, "c"), (1, "a"), (2, "b")]);
        let mut other = one.clone();
        assert!(one.is_same(&other));
        other.retain(|key, _| *key != 2);
        assert_eq!(other.insert(3, "d"), Some("c"));
        assert_eq!(one.iter().collect::<Vec<_>>(), [(&1, &"a"), (&2, &"b"), (&3, &"c")]);
        assert_eq!(other.starting_at(2).collect::<Vec<_>>(), [(&3, &"d")]);
        assert_eq!((other.remove(&1), other.remove(&3)), (Some("a"), Some("d")));
        assert!(other.is_empty() && other == Map::default());
    }

    #[test]
    fn what_is_apart() {
        let map = |pairs: &[(u32, char)]| Map::of_sorted(pairs.to_vec());
        let (one, other) =
            (map(&[(1, 'a'), (2, 'b'), (4, 'd'), (6, 'f')]), map(&[(2, 'b'), (3, 'c'), (4, 'e')]));
        assert_eq!(one.apart(&other, |a, b| a == b), [1, 3, 4, 6]);
        assert_eq!(other.apart(&one, |a, b| a == b), [1, 3, 4, 6]);
        assert_eq!(one.apart(&Map::default(), |a, b| a == b), [1, 2, 4, 6]);
    }

    #[test]
    fn sets_unite() {
        let set = |elements: &[u32]| elements.iter().copied().collect::<Set<u32>>();
        let (mut one, other) = (set(&[5, 1, 5]), set(&[2, 1, 7]));
        assert_eq!(one.difference(&other), 3);
        assert!(one.unite(&other) && !one.unite(&other));
        assert_eq!(one, set(&[1, 2, 5, 7]));
        one.intersect(&set(&[7, 3, 2]));
        assert_eq!(one, set(&[2, 7]));
        assert!(one.unite(&set(&[2, 7, 9])) && one == set(&[2, 7, 9]));
    }
}
