//! The rules of a service, ready to be found by a request: the pair's rule, else
//! the user's, else the API's, else the default. Of an API's, the one of its exact
//! name, else that of the longest prefix.
//!
//! A book never changes once it is made. Looking up takes the hashes that the
//! request has anyway and never walks the rules.

use arrayvec::ArrayVec;
use hashbrown::HashTable;

use super::prefix::Prefixes;
use super::{Apis, Limit, Rule, Scope};
use crate::algorithm::{Clocks, Counter};
use crate::config::Match;
use crate::hash::{Hasher, Names, Tag};
use crate::table::Scale;

/// A rule, ready to be applied.
#[derive(Debug)]
pub(crate) enum Plan {
    Unlimited,
    Deny,
    Limits(Box<[Limited]>),
}

/// A limit, ready to count.
#[derive(Debug)]
pub(crate) struct Limited {
    pub counter: Counter,
    pub tag: Tag,
    pub capacity: u64,
    pub scale: Scale,
    pub window_ms: u64,
    pub name: Option<[u8; 16]>,
    /// What it is called where it is the only one that applies.
    pub name_alone: [u8; 16],
    pub shadow: bool,
}

/// A rule with whom it is for.
#[derive(Debug)]
pub(crate) struct Entry {
    pub scope: Scope,
    pub rule: Rule,
    pub plan: Plan,
}

/// The rules that apply to a request, the most specific first: one, or with
/// `match = all` one of each kind.
pub(crate) type Matching<'b> = ArrayVec<&'b Entry, 4>;

/// The rules of a service.
#[derive(Debug)]
pub(crate) struct Book {
    matching: Match,
    default: Entry,
    /// Whether there is no other rule.
    only_default: bool,
    pairs: Rules<Entry>,
    pair_prefixes: Rules<Prefixes<Entry>>,
    users: Rules<Entry>,
    apis: Rules<Entry>,
    api_prefixes: Prefixes<Entry>,
}

/// What is kept by one or two names, by the hash of those.
#[derive(Debug)]
struct Rules<T>(HashTable<Named<T>>);

#[derive(Debug)]
struct Named<T> {
    hash: u64,
    user: Option<Box<[u8]>>,
    api: Option<Box<[u8]>>,
    of: T,
}

impl Book {
    /// The book of these rules; `None` where there is no default among them.
    pub fn new(
        rules: &[(Scope, Rule)],
        matching: Match,
        hasher: &Hasher,
        clocks: Clocks,
    ) -> Option<Book> {
        let limited = |limit: &Limit, order| Limited::new(limit, hasher.tag(limit, order), clocks);
        let entry = |scope: &Scope, rule: &Rule| Entry::new(scope, rule, matching, limited);
        let (scope, rule) = rules.iter().find(|(scope, _)| *scope == Scope::default())?;
        let mut book = Book {
            matching,
            default: entry(scope, rule),
            only_default: rules.len() == 1,
            pairs: Rules::default(),
            pair_prefixes: Rules::default(),
            users: Rules::default(),
            apis: Rules::default(),
            api_prefixes: Prefixes::default(),
        };
        for (scope, rule) in rules {
            book.add(scope, entry(scope, rule), hasher);
        }
        book.api_prefixes.link();
        let by_user = book.pair_prefixes.0.iter_mut();
        by_user.for_each(|prefixes| prefixes.of.link());
        Some(book)
    }

    fn add(&mut self, scope: &Scope, entry: Entry, hasher: &Hasher) {
        match (scope.user.as_deref(), &scope.api) {
            (Some(user), Some(Apis::Exactly(api))) => {
                let hash = hasher.names(user, api).pair();
                self.pairs.add(hash, Some(user), Some(api), entry);
            }
            (Some(user), Some(Apis::Under(prefix))) => {
                let of_user = self.pair_prefixes.of_user(hasher.user(user), user);
                of_user.add(prefix, entry);
            }
            (Some(user), None) => self.users.add(hasher.user(user), Some(user), None, entry),
            (None, Some(Apis::Exactly(api))) => {
                self.apis.add(hasher.api(api), None, Some(api), entry);
            }
            (None, Some(Apis::Under(prefix))) => self.api_prefixes.add(prefix, entry),
            (None, None) => {}
        }
    }

    /// The rule for a request, where only the most specific counts. On the way of
    /// every check: kinds of rules that there are none of cost a look each.
    #[inline(always)]
    pub fn first(&self, names: Names, user: &[u8], api: &[u8]) -> Option<&Entry> {
        if self.only_default {
            return Some(&self.default);
        }
        if self.matching == Match::All {
            return None;
        }
        let has_pairs = !self.pairs.is_empty() || !self.pair_prefixes.is_empty();
        let pair = if has_pairs {
            self.pair(names, user, api)
        } else {
            None
        };
        if pair.is_some() {
            return pair;
        }
        if let Some(entry) = self.users.find(|| names.user, user, api) {
            return Some(entry);
        }
        if let Some(entry) = self.apis.find(|| names.api, user, api) {
            return Some(entry);
        }
        let entry = self.api_prefixes.longest(api);
        Some(entry.unwrap_or(&self.default))
    }

    /// The rules for a request, where all count that match.
    #[inline(never)]
    pub fn matching(&self, names: Names, user: &[u8], api: &[u8]) -> Matching<'_> {
        let found = [
            self.pair(names, user, api),
            self.users.find(|| names.user, user, api),
            self.api(names, user, api),
            Some(&self.default),
        ];
        found.into_iter().flatten().collect()
    }

    #[inline(never)]
    fn pair(&self, names: Names, user: &[u8], api: &[u8]) -> Option<&Entry> {
        let exact = self.pairs.find(|| names.pair(), user, api);
        exact.or_else(|| {
            let prefixes = self.pair_prefixes.find(|| names.user, user, api)?;
            prefixes.longest(api)
        })
    }

    fn api(&self, names: Names, user: &[u8], api: &[u8]) -> Option<&Entry> {
        let exact = self.apis.find(|| names.api, user, api);
        exact.or_else(|| self.api_prefixes.longest(api))
    }
}

impl Plan {
    /// Its limit, where there is just one and it refuses.
    #[inline(always)]
    pub fn only_limit(&self) -> Option<&Limited> {
        match self {
            Plan::Limits(limits) => match &**limits {
                [limit] if !limit.shadow => Some(limit),
                _ => None,
            },
            Plan::Unlimited | Plan::Deny => None,
        }
    }

    /// Its limits, where it has any.
    pub fn limits(&self) -> Option<&[Limited]> {
        match self {
            Plan::Limits(limits) => Some(limits),
            Plan::Unlimited | Plan::Deny => None,
        }
    }
}

impl<T> Rules<T> {
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline(always)]
    fn find(&self, hash: impl Fn() -> u64, user: &[u8], api: &[u8]) -> Option<&T> {
        if self.is_empty() {
            return None;
        }
        let is = |name: &Option<Box<[u8]>>, asked| name.as_deref().is_none_or(|name| name == asked);
        let found = self
            .0
            .find(hash(), |named| is(&named.user, user) && is(&named.api, api));
        found.map(|named| &named.of)
    }

    fn add(&mut self, hash: u64, user: Option<&[u8]>, api: Option<&[u8]>, of: T) {
        let named = Named {
            hash,
            user: user.map(Box::from),
            api: api.map(Box::from),
            of,
        };
        self.0.insert_unique(hash, named, |named| named.hash);
    }
}

impl Rules<Prefixes<Entry>> {
    fn of_user(&mut self, hash: u64, user: &[u8]) -> &mut Prefixes<Entry> {
        let is_user = |named: &Named<_>| named.user.as_deref() == Some(user);
        let new = || Named {
            hash,
            user: Some(user.into()),
            api: None,
            of: Prefixes::default(),
        };
        let entry = self.0.entry(hash, is_user, |named| named.hash);
        &mut entry.or_insert_with(new).into_mut().of
    }
}

impl<T> Default for Rules<T> {
    fn default() -> Rules<T> {
        Rules(HashTable::new())
    }
}

impl Entry {
    fn new(
        scope: &Scope,
        rule: &Rule,
        matching: Match,
        limited: impl Fn(&Limit, u64) -> Limited,
    ) -> Entry {
        let plan = match rule {
            Rule::Unlimited => Plan::Unlimited,
            Rule::Deny => Plan::Deny,
            Rule::Limits(limits) => {
                let limited =
                    |(index, limit)| limited(limit, order(limits, index, scope, matching));
                Plan::Limits(limits.iter().enumerate().map(limited).collect())
            }
        };
        Entry {
            scope: scope.clone(),
            rule: rule.clone(),
            plan,
        }
    }
}

/// Tells apart what counts side by side: limits of one rule that are alike, and with
/// `match = all` the limits of the user's rule, the API's and so on.
fn order(limits: &[Limit], index: usize, scope: &Scope, matching: Match) -> u64 {
    let kind = match matching {
        Match::First => 0,
        Match::All => u64::from(scope.user.is_some()) | u64::from(scope.api.is_some()) << 1,
    };
    let of = |limit: &Limit| (limit.algorithm, limit.window_ns, limit.per);
    let own = limits.get(index).map(of);
    let alike = limits
        .iter()
        .take(index)
        .filter(|limit| Some(of(limit)) == own);
    kind << 8 | alike.count() as u64
}

impl Limited {
    fn new(limit: &Limit, tag: Tag, clocks: Clocks) -> Limited {
        Limited {
            counter: Counter::new(limit, clocks),
            tag,
            capacity: limit.capacity(),
            scale: Scale::new(limit.capacity()),
            window_ms: limit.window_ns / 1_000_000,
            name: limit.name.as_deref().map(padded),
            name_alone: padded(limit.name.as_deref().unwrap_or("default")),
            shadow: limit.shadow,
        }
    }
}

/// A name of up to 15 bytes, with NULs behind it.
pub(crate) fn padded(name: &str) -> [u8; 16] {
    let mut padded = [0; 16];
    let bytes = padded.iter_mut().take(15).zip(name.bytes());
    bytes.for_each(|(to, from)| *to = from);
    padded
}
