//! The rules in force, which a reload replaces as a whole: a check sees the old ones
//! or the new, never a mixture.
//!
//! Until the first reload they are a plain field, since taking hold of something
//! that may be replaced costs a check several ns. The first rules are kept for as long
//! as the service lives; later ones are freed when the last check lets go of them.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwapOption, Guard};

use crate::algorithm::Clocks;
use crate::config::{Config, OnFull};
use crate::error::{Error, ErrorKind};
use crate::hash::Hasher;
use crate::rule::book::Book;

/// What a reload replaces.
#[derive(Debug)]
pub(super) struct Rules {
    pub book: Book,
    pub on_full: OnFull,
}

/// The rules in force.
#[derive(Debug)]
pub(super) struct Current {
    first: Rules,
    /// Whether there are later ones. Nobody waits for it, since a child may be forked
    /// while somebody would have to be waited for.
    replaced: AtomicBool,
    later: ArcSwapOption<Rules>,
}

/// A hold of the rules that were in force when it was taken.
pub(super) enum Held<'a> {
    First(&'a Rules),
    Later(Guard<Option<Arc<Rules>>>, &'a Rules),
}

impl Rules {
    pub fn new(config: &Config, hasher: &Hasher, clocks: Clocks) -> Result<Rules, Error> {
        config.validate()?;
        let book = Book::new(config.rules(), config.matching(), hasher, clocks);
        let no_default = || Error::new(ErrorKind::Config, "there is no default rule");
        Ok(Rules {
            book: book.ok_or_else(no_default)?,
            on_full: config.on_full(),
        })
    }
}

impl Current {
    pub fn new(first: Rules) -> Current {
        Current {
            first,
            replaced: AtomicBool::new(false),
            later: ArcSwapOption::empty(),
        }
    }

    /// The first rules, where they are in force.
    #[inline(always)]
    pub fn unless_replaced(&self) -> Option<&Rules> {
        // Acquire: whoever sees this sees later rules.
        (!self.replaced.load(Ordering::Acquire)).then_some(&self.first)
    }

    pub fn load(&self) -> Held<'_> {
        match self.unless_replaced() {
            Some(first) => Held::First(first),
            None => Held::Later(self.later.load(), &self.first),
        }
    }

    pub fn replace(&self, rules: Rules) {
        self.later.store(Some(Arc::new(rules)));
        self.replaced.store(true, Ordering::Release);
    }
}

impl Deref for Held<'_> {
    type Target = Rules;

    #[inline(always)]
    fn deref(&self) -> &Rules {
        match self {
            Held::First(rules) => rules,
            Held::Later(later, first) => later.as_deref().unwrap_or(first),
        }
    }
}
