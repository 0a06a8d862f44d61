//! Whether the rules can be applied at once: under `match = all` a request meets
//! the pair's rule, the user's, the API's and the default, the most specific of
//! each, and a decision has room for [`MAX_LIMITS`] limits.
//!
//! Not every request is tried. Which rules meet depends on the names alone, so
//! one example stands for all requests that meet the same: an API that a rule
//! names, or one that a prefix has to itself. The answer is exact, except that a
//! prefix counts as if it had such an API where longer ones leave it none.

use super::name::scope_text;
use super::span::shown_to;
use crate::error::{Error, ErrorKind};
use crate::rule::{Apis, MAX_LIMITS, Rule, Scope};
use std::collections::{BTreeMap, HashMap};
use std::iter::once;

/// How many bytes of each rule's name a message shows.
const SHOWN: usize = 32;

type Entry = (Scope, Rule);

/// The rules that a request meets, the most specific first.
type Met<'a> = [Option<&'a Entry>; 4];

/// Checks that no request meets too many limits. No scope may come twice.
pub(super) fn check(rules: &[Entry]) -> Result<(), Error> {
    let levels = Levels::of(rules);
    let most = |level: fn(&Scope) -> bool| {
        let rules = rules.iter().filter(|(scope, _)| level(scope));
        rules.max_by_key(|rule| limits(rule))
    };
    let user = most(|scope| scope.user.is_some() && scope.api.is_none());
    let api = most(|scope| scope.user.is_none() && scope.api.is_some());
    refuse([None, user, api, levels.default])?;

    // Most pairs cannot meet too many, whatever the API's rule.
    let spare = MAX_LIMITS.saturating_sub(api.map_or(0, limits));
    let is_pair = |scope: &Scope| scope.user.is_some() && scope.api.is_some();
    let pairs = rules.iter().filter(|(scope, _)| is_pair(scope));
    let crowded = pairs.filter(|pair| levels.without_api(pair) > spare);
    crowded
        .flat_map(|pair| levels.examples(pair))
        .try_for_each(refuse)
}

/// An error if these are too many limits.
fn refuse(met: Met<'_>) -> Result<(), Error> {
    let rules = || met.into_iter().flatten().filter(|rule| limits(rule) > 0);
    let count: usize = rules().map(limits).sum();
    if count <= MAX_LIMITS {
        return Ok(());
    }
    let name = |(scope, _): &Entry| shown_to(&scope_text(scope), SHOWN);
    let names: Vec<_> = rules().map(name).collect();
    let names = names.join(" and ");
    let message = format!(
        "with match = all a request can meet {count} limits at once, those of {names}; \
         at most {MAX_LIMITS} are possible"
    );
    Err(Error::new(ErrorKind::Config, message))
}

fn limits((_, rule): &Entry) -> usize {
    rule.limits().len()
}

/// The rules by whom they are for.
#[derive(Default)]
struct Levels<'a> {
    default: Option<&'a Entry>,
    users: HashMap<&'a [u8], &'a Entry>,
    apis: Level<'a>,
    pairs: HashMap<&'a [u8], Level<'a>>,
}

impl<'a> Levels<'a> {
    fn of(rules: &'a [Entry]) -> Levels<'a> {
        let mut levels = Levels::default();
        for entry in rules {
            match (&entry.0.user, &entry.0.api) {
                (None, None) => levels.default = Some(entry),
                (None, Some(api)) => levels.apis.add(api, entry),
                (Some(user), None) => _ = levels.users.insert(user, entry),
                (Some(user), Some(api)) => levels.pairs.entry(user).or_default().add(api, entry),
            }
        }
        levels
    }

    /// How many limits a pair's request meets beside those of the API's rule.
    fn without_api(&self, pair: &Entry) -> usize {
        let user = pair.0.user.as_deref().and_then(|user| self.users.get(user));
        let others = [user.copied(), self.default].into_iter().flatten();
        limits(pair) + others.map(limits).sum::<usize>()
    }

    /// What requests meet to which a pair's rule applies, as far as it may be
    /// too much.
    fn examples(&self, pair: &'a Entry) -> impl Iterator<Item = Met<'a>> {
        let prefix = match &pair.0.api {
            Some(Apis::Under(prefix)) => Some(&**prefix),
            _ => None,
        };
        let spare = MAX_LIMITS.saturating_sub(self.without_api(pair));
        let inside = prefix
            .into_iter()
            .flat_map(|prefix| self.apis.under(prefix));
        let crowded = inside.filter(move |rule| limits(rule) > spare);
        once(pair)
            .chain(crowded)
            .filter_map(|example| self.met(pair.0.user.as_deref()?, example.0.api.as_ref()?))
    }

    /// What the example of `apis` meets.
    fn met(&self, user: &[u8], apis: &Apis) -> Option<Met<'a>> {
        let pair = self.pairs.get(user)?.find(apis);
        let user = self.users.get(user).copied();
        Some([pair, user, self.apis.find(apis), self.default])
    }
}

/// Rules by their API: of all users, or of one.
#[derive(Default)]
struct Level<'a> {
    exact: BTreeMap<&'a [u8], &'a Entry>,
    prefixes: BTreeMap<&'a [u8], &'a Entry>,
}

impl<'a> Level<'a> {
    fn add(&mut self, apis: &'a Apis, entry: &'a Entry) {
        match apis {
            Apis::Exactly(name) => self.exact.insert(name, entry),
            Apis::Under(prefix) => self.prefixes.insert(prefix, entry),
        };
    }

    /// The most specific rule for the example of `apis`: for the one that is
    /// named, or for one that no longer name or prefix has.
    fn find(&self, apis: &Apis) -> Option<&'a Entry> {
        let named = match apis {
            Apis::Exactly(name) => self.exact.get(&**name).copied(),
            Apis::Under(_) => None,
        };
        named.or_else(|| self.longest_prefix(apis.bytes()))
    }

    /// The rule of the longest prefix of `name`.
    fn longest_prefix(&self, mut name: &[u8]) -> Option<&'a Entry> {
        loop {
            let (prefix, entry) = self.prefixes.range(..=name).next_back()?;
            if name.starts_with(prefix) {
                return Some(entry);
            }
            // Between a name and its prefix there are only longer prefixes: what is
            // sought is one of what both begin with.
            let same = name.iter().zip(*prefix).take_while(|(a, b)| a == b);
            name = name.split_at(same.count()).0;
        }
    }

    /// The rules for APIs that all begin with `prefix`.
    fn under(&self, prefix: &'a [u8]) -> impl Iterator<Item = &'a Entry> {
        let inside = move |(name, _): &(&&[u8], &&Entry)| name.starts_with(prefix);
        let named = self.exact.range(prefix..).take_while(inside);
        let under = self.prefixes.range(prefix..).take_while(inside);
        named.chain(under).map(|(_, entry)| *entry)
    }
}
