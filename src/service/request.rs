//! What a service is asked, and whether it makes sense.

use crate::error::{Error, ErrorKind};
use crate::rule::MAX_NAME;

/// One request: who asks for what, and how much it takes.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The user's name, up to 65,535 bytes of any value.
    pub user: &'a [u8],
    /// The API's name, up to 65,535 bytes of any value.
    pub api: &'a [u8],
    /// Units of the quota, at least 1.
    pub cost: u64,
}

/// A request that can be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Valid<'a>(pub(super) Request<'a>);

/// Refuses the first that makes no sense.
pub(super) fn all_valid<'a>(mut requests: impl Iterator<Item = Request<'a>>) -> Result<(), Error> {
    requests.try_for_each(|request| request.valid().map(drop))
}

impl<'a> Request<'a> {
    /// The request, if it makes sense.
    #[inline(always)]
    pub(crate) fn valid(self) -> Result<Valid<'a>, Error> {
        if self.user.len() > MAX_NAME || self.api.len() > MAX_NAME || self.cost == 0 {
            return Err(self.fault());
        }
        Ok(Valid(self))
    }

    #[cold]
    fn fault(self) -> Error {
        let message = match self.cost {
            0 => "the cost is 0; it must be at least 1".into(),
            _ => format!("a name is longer than {MAX_NAME} bytes"),
        };
        Error::new(ErrorKind::Argument, message)
    }
}
