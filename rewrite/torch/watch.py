"""Whether parameters hold what they held at the call before.

What a program makes of parameters alone (weights packed, norms folded) is kept while
nothing has been written to them.  The system keeps account of writes to their pages,
and what it keeps none of is digested at each call (`backends/native/digest.py`).  So
it does not matter in which way they were written to: in place, by an optimizer, through
`.data`, a view, an array of NumPy on their memory.  PyTorch's own witnesses, the
address and the version, only save work: where one of them changed since the last call,
memory is not even looked at, and all is made anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.backends.native.digest import Holding
from rewrite.egraph.ir.scalars import Array

from .library import Tensor

type Stamp = tuple[tuple[int, int], ...]


def stamp(tensor: Tensor) -> tuple[int, int]:
    """What changes with most writes to a tensor: where it lies, how often it was
    written to.  PyTorch does not count writes through `.data`."""
    return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version


class Watch:
    """The parameters that a program keeps something of."""

    def __init__(self) -> None:
        self._last: tuple[Stamp, Holding | None] = (), None
        self._witness: tuple[int, ...] | None = None
        self.changes = 0  # calls in succession before which they had changed

    def witness(
        self, tensors: Sequence[Tensor], arrays: Sequence[Array]
    ) -> tuple[int, ...] | None:
        """Equal for two calls between which no byte has changed; None: it is not known.

        `arrays` are those of the tensors, their axes in the order of memory.
        """
        now = tuple(map(stamp, tensors))
        before, holding = self._last
        if now != before:
            self._last, self._witness = (now, None), None
            self.changes += 1
            return None
        if holding is None:
            if not all(a.flags.c_contiguous for a in arrays):
                return None
            spans = [(at, a.nbytes) for (at, _), a in zip(now, arrays, strict=True)]
            holding = Holding(spans)
            self._last = now, holding
        found, last = holding.witness(), self._witness
        changed = last is not None and found != last
        self.changes = self.changes + 1 if changed else 0
        self._witness = found
        return found


__all__ = ["Watch", "stamp"]
