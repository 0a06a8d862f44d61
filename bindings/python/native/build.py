"""Describes librl._native to setuptools: shim.c, and librl.a inside it.

LIBRL_INCLUDE and LIBRL_LIBRARY say where rl.h and librl.a are (`make wheel` sets both).
It is one file for Python 3.9 and all later ones (py_limited_api).
"""

import os
from pathlib import Path

from cffi import FFI

here = Path(__file__).parent

ffi = FFI()
ffi.cdef((here / "shim.h").read_text())
ffi.set_source(
    "librl._native",
    (here / "shim.c").read_text(),
    include_dirs=[os.environ["LIBRL_INCLUDE"]],
    extra_objects=[os.environ["LIBRL_LIBRARY"]],
    define_macros=[("Py_LIMITED_API", "0x03090000")],
    py_limited_api=True,
    extra_compile_args=["-O2", "-std=c99", "-Wall", "-Werror"],
    # The library stays this module's own, and stays loaded, as rl.h says.
    extra_link_args=["-Wl,--exclude-libs,ALL", "-Wl,-z,nodelete", "-Wl,--strip-debug"],
)
