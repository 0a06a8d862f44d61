"""librl: an exact, bounded and fast rate limiter.

    with librl.Limiter("default = token-bucket,5,10") as limiter:
        if not limiter.check("alice", "/orders"):
            ...

Rules, and what each call promises, are those of librl itself: see rl.h. Middleware is in
librl.asgi and librl.wsgi.
"""

from ._clock import ManualClock
from ._decision import Decision
from ._errors import Error, Limited, Status
from ._limiter import Limiter, Stats, remove_zone
from ._names import Name
from ._native import ffi as _ffi
from ._native import lib as _lib

__all__ = [
    "Decision",
    "Error",
    "Limited",
    "Limiter",
    "ManualClock",
    "Name",
    "Stats",
    "Status",
    "remove_zone",
]
__version__: str = _ffi.string(_lib.rl_version()).decode()
