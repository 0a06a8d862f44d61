//! The rules of a service, ready to be found by a request: the pair's rule, else
//! the user's, else the API's, else the default.
//!
//! A book never changes once it is made. Looking up takes the hashes that the
//! request has anyway and never walks the rules.

use hashbrown::HashTable;

use super::{Limit, Rule, Scope};
use crate::algorithm::Counter;
use crate::hash::{Hasher, Names, Tag};

/// A rule, ready to be applied.
#[derive(Debug)]
pub(crate) enum Plan {
    Unlimited,
    Deny,
    Limited(Limited),
}

/// A limit, ready to count.
#[derive(Debug)]
pub(crate) struct Limited {
    pub counter: Counter,
    pub tag: Tag,
    pub capacity: u64,
    pub window_ms: u64,
    pub name: [u8; 16],
}

/// A rule with whom it is for.
#[derive(Debug)]
pub(crate) struct Entry {
    pub scope: Scope,
    pub rule: Rule,
    pub plan: Plan,
}

/// The rules of a service.
#[derive(Debug)]
pub(crate) struct Book {
    default: Entry,
    pairs: Rules,
    users: Rules,
    apis: Rules,
}

/// Rules by the hash of their names.
#[derive(Debug, Default)]
struct Rules(HashTable<(u64, Entry)>);

impl Rules {
    #[inline]
    fn find(&self, hash: impl Fn() -> u64, user: &[u8], api: &[u8]) -> Option<&Entry> {
        if self.0.is_empty() {
            return None;
        }
        let covers = |(_, entry): &(u64, Entry)| entry.scope.covers(user, api);
        self.0.find(hash(), covers).map(|(_, entry)| entry)
    }
}

impl Book {
    /// The book of these rules; `None` where there is no default among them.
    pub fn new(rules: &[(Scope, Rule)], hasher: &Hasher) -> Option<Book> {
        let (_, default) = rules.iter().find(|(scope, _)| *scope == Scope::default())?;
        let mut book = Book {
            default: Entry::new(&Scope::default(), default, hasher),
            pairs: Rules::default(),
            users: Rules::default(),
            apis: Rules::default(),
        };
        for (scope, rule) in rules {
            let entry = Entry::new(scope, rule, hasher);
            let (rules, hash) = match (&scope.user, &scope.api) {
                (Some(user), Some(api)) => (&mut book.pairs, hasher.names(user, api).pair()),
                (Some(user), None) => (&mut book.users, hasher.user(user)),
                (None, Some(api)) => (&mut book.apis, hasher.api(api)),
                (None, None) => continue,
            };
            rules
                .0
                .insert_unique(hash, (hash, entry), |(hash, _)| *hash);
        }
        Some(book)
    }

    /// The rule for a request.
    #[inline(always)]
    pub fn find(&self, names: Names, user: &[u8], api: &[u8]) -> &Entry {
        let Book {
            default,
            pairs,
            users,
            apis,
        } = self;
        let pair = pairs.find(|| names.pair(), user, api);
        pair.or_else(|| users.find(|| names.user, user, api))
            .or_else(|| apis.find(|| names.api, user, api))
            .unwrap_or(default)
    }
}

impl Entry {
    fn new(scope: &Scope, rule: &Rule, hasher: &Hasher) -> Entry {
        let plan = match rule {
            Rule::Unlimited => Plan::Unlimited,
            Rule::Deny => Plan::Deny,
            Rule::Limited(limit) => Plan::Limited(Limited::new(limit, hasher)),
        };
        Entry {
            scope: scope.clone(),
            rule: rule.clone(),
            plan,
        }
    }
}

impl Limited {
    fn new(limit: &Limit, hasher: &Hasher) -> Limited {
        Limited {
            counter: Counter::new(limit),
            tag: hasher.tag(limit),
            capacity: limit.capacity(),
            window_ms: limit.window_ns / 1_000_000,
            name: padded(limit.name.as_deref().unwrap_or("default")),
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
