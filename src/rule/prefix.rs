//! Things kept by a prefix, found by the longest that a name begins with.
//!
//! The prefixes are sorted, and each knows the longest other that it begins with
//! itself. What a name begins with then lies on the way up from its neighbour in the
//! order: every prefix between the longest and the name begins with the longest. A
//! look-up costs a binary search and a step for each prefix within a prefix.

/// Things by prefix. To be linked once all are in.
#[derive(Debug)]
pub(crate) struct Prefixes<T>(Vec<Prefix<T>>);

#[derive(Debug)]
struct Prefix<T> {
    prefix: Box<[u8]>,
    /// Index of the longest other prefix of this one.
    within: Option<usize>,
    of: T,
}

impl<T> Default for Prefixes<T> {
    fn default() -> Prefixes<T> {
        Prefixes(Vec::new())
    }
}

impl<T> Prefixes<T> {
    pub fn add(&mut self, prefix: &[u8], of: T) {
        self.0.push(Prefix {
            prefix: prefix.into(),
            within: None,
            of,
        });
    }

    /// Makes what was added ready to be found.
    pub fn link(&mut self) {
        self.0.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        for index in 0..self.0.len() {
            let (before, rest) = self.0.split_at_mut(index);
            if let Some(prefix) = rest.first_mut() {
                prefix.within = longest(before, &prefix.prefix, index.checked_sub(1));
            }
        }
    }

    /// What is kept by the longest prefix of a name.
    #[inline(always)]
    pub fn longest(&self, name: &[u8]) -> Option<&T> {
        if self.0.is_empty() {
            None
        } else {
            self.search(name)
        }
    }

    #[inline(never)]
    fn search(&self, name: &[u8]) -> Option<&T> {
        let after = self.0.partition_point(|prefix| *prefix.prefix <= *name);
        let found = longest(&self.0, name, after.checked_sub(1))?;
        self.0.get(found).map(|prefix| &prefix.of)
    }
}

/// Goes up from a prefix to the first that the name begins with.
fn longest<T>(prefixes: &[Prefix<T>], name: &[u8], from: Option<usize>) -> Option<usize> {
    let up = |&index: &usize| prefixes.get(index)?.within;
    std::iter::successors(from, up).find(|&index| {
        prefixes
            .get(index)
            .is_some_and(|known| name.starts_with(&known.prefix))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn linked(texts: &[Vec<u8>]) -> Prefixes<Vec<u8>> {
        let mut prefixes = Prefixes::default();
        texts
            .iter()
            .for_each(|text| prefixes.add(text, text.clone()));
        prefixes.link();
        prefixes
    }

    proptest! {
        #[test]
        fn the_longest_prefix_is_found(
            mut texts in prop::collection::vec("[ab]{0,6}", 0..40),
            name in "[abc]{0,8}",
        ) {
            texts.sort();
            texts.dedup();
            let texts: Vec<_> = texts.into_iter().map(String::into_bytes).collect();
            let fitting = texts.iter().filter(|text| name.as_bytes().starts_with(text));
            let longest = fitting.max_by_key(|text| text.len());
            let prefixes = linked(&texts);
            prop_assert_eq!(prefixes.longest(name.as_bytes()), longest);
        }
    }
}
