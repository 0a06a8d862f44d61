//! The rules of a service, ready to be found by a request: the pair's rule, else
//! the user's, else the API's, else the default. Of an API's, the one of its exact
//! name, else that of the longest prefix.
//!
//! A book never changes once it is made. A look-up never walks the rules, and hashes the
//! names by itself, with no secret: only who writes the rules chooses which names are in
//! here. So it need not wait for the hashes that find the counter, which take longer.

use arrayvec::ArrayVec;
use hashbrown::HashMap;

use super::prefix::Prefixes;
use super::{Apis, Limit, Rule, Scope};
use crate::algorithm::{Clocks, Counter};
use crate::config::Match;
use crate::hash::{Hasher, Tag};
use crate::table::Scale;

/// A rule, ready to be applied.
#[derive(Debug)]
pub(crate) enum Plan {
    Unlimited,
    Deny,
    /// One that refuses: most rules have no other. It lies in the rule, and is found by
    /// one look.
    Limit(Limited),
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
    pairs: Named<OfUser>,
    users: Named<Entry>,
    apis: Named<Entry>,
    api_prefixes: Prefixes<Entry>,
}

/// What is kept by a name.
type Named<T> = HashMap<Box<[u8]>, T>;

/// The rules of a user for some APIs.
#[derive(Debug, Default)]
struct OfUser {
    apis: Named<Entry>,
    api_prefixes: Prefixes<Entry>,
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
            pairs: Named::default(),
            users: Named::default(),
            apis: Named::default(),
            api_prefixes: Prefixes::default(),
        };
        for (scope, rule) in rules {
            book.add(scope, entry(scope, rule));
        }
        book.api_prefixes.link();
        let by_user = book.pairs.values_mut();
        by_user.for_each(|of_user| of_user.api_prefixes.link());
        Some(book)
    }

    fn add(&mut self, scope: &Scope, entry: Entry) {
        match (scope.user.as_deref(), &scope.api) {
            (Some(user), Some(apis)) => {
                let of_user = self.pairs.entry(user.into()).or_default();
                match apis {
                    Apis::Exactly(api) => drop(of_user.apis.insert(api.clone(), entry)),
                    Apis::Under(prefix) => of_user.api_prefixes.add(prefix, entry),
                }
            }
            (Some(user), None) => drop(self.users.insert(user.into(), entry)),
            (None, Some(Apis::Exactly(api))) => drop(self.apis.insert(api.clone(), entry)),
            (None, Some(Apis::Under(prefix))) => self.api_prefixes.add(prefix, entry),
            (None, None) => {}
        }
    }

    /// The rule for a request, where only the most specific counts. On the way of
    /// every check: kinds of rules that there are none of cost a look each.
    #[inline(always)]
    pub fn first(&self, user: &[u8], api: &[u8]) -> Option<&Entry> {
        if self.only_default {
            return Some(&self.default);
        }
        if self.matching == Match::All {
            return None;
        }
        let own = self.pair(user, api).or_else(|| self.users.get(user));
        let found = own.or_else(|| self.api(api));
        Some(found.unwrap_or(&self.default))
    }

    /// The rules for a request, where all count that match.
    #[inline(never)]
    pub fn matching(&self, user: &[u8], api: &[u8]) -> Matching<'_> {
        let found = [
            self.pair(user, api),
            self.users.get(user),
            self.api(api),
            Some(&self.default),
        ];
        found.into_iter().flatten().collect()
    }

    #[inline]
    fn pair(&self, user: &[u8], api: &[u8]) -> Option<&Entry> {
        let of_user = self.pairs.get(user)?;
        let exact = of_user.apis.get(api);
        exact.or_else(|| of_user.api_prefixes.longest(api))
    }

    #[inline]
    fn api(&self, api: &[u8]) -> Option<&Entry> {
        let exact = self.apis.get(api);
        exact.or_else(|| self.api_prefixes.longest(api))
    }
}

impl Plan {
    /// Its limit, where there is just one and it refuses.
    #[inline(always)]
    pub fn only_limit(&self) -> Option<&Limited> {
        match self {
            Plan::Limit(limit) => Some(limit),
            Plan::Unlimited | Plan::Deny | Plan::Limits(_) => None,
        }
    }

    /// Its limits, where it has any.
    pub fn limits(&self) -> Option<&[Limited]> {
        match self {
            Plan::Limit(limit) => Some(std::slice::from_ref(limit)),
            Plan::Limits(limits) => Some(limits),
            Plan::Unlimited | Plan::Deny => None,
        }
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
                let order = |index| order(limits, index, scope, matching);
                match limits.as_slice() {
                    [limit] if !limit.shadow => Plan::Limit(limited(limit, order(0))),
                    _ => {
                        let limited = |(index, limit)| limited(limit, order(index));
                        Plan::Limits(limits.iter().enumerate().map(limited).collect())
                    }
                }
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
