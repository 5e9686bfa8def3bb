"""Text that a terminal shows and does not obey.

Names are their model's: they may hold escapes, line ends, and marks that turn the
direction of what follows.  Whoever prints one prints this instead.
"""

from __future__ import annotations

UNKNOWN = "\ufffd"  # in place of a character that moves, colours or hides text


def printable(text: str, keep: str = "") -> str:
    """The text without characters that are not seen, but for those of `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else UNKNOWN for c in text)
