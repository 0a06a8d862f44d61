"""The compiled part, made by cffi from native/."""

from typing import Any

ffi: Any
lib: Any
