"""What both kinds of middleware answer with."""

from __future__ import annotations

from ._decision import Decision, headers

BODY = b"Too Many Requests\n"
PLAIN = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(BODY))}


def fields(decision: Decision, style: str | None) -> dict[str, str]:
    """The fields of a style; without one, what a refusal cannot do without."""
    if style is not None:
        return headers(decision, style)
    return {k: v for k, v in headers(decision).items() if k == "Retry-After"}
