"""Names of users and APIs: bytes as they are, text as UTF-8.

Bytes that had no meaning as text (surrogateescape, as in os.environ and sys.argv) become
those bytes again. A name has up to 65,535 bytes.
"""

from typing import Union

Name = Union[str, bytes]


def encoded(name: Name) -> bytes:
    return name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
