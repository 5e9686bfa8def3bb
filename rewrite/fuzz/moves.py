"""Random movements: reshapes that split and merge, permutations, slices, joins."""

from __future__ import annotations

import math

from .bounds import Bound
from .draw import Drawer


class Mover(Drawer):
    """Adds nodes that move elements.  Each returns the node, or None for a bad draw."""

    def _moved(self, made: int, x: int) -> int | None:
        return self._checked(made, self._bound_of(x))

    def _reshape(self) -> int | None:
        """Splits an axis, merges neighbours, or moves ones about."""
        x = self._pick(lambda i: bool(self._ints(i)))
        shape = list(self._ints(x))
        at = self.rng.randrange(len(shape))
        factors = [k for k in range(2, shape[at] + 1) if shape[at] % k == 0]
        draw = self.rng.random()
        if draw < 0.45 and factors:
            k = self.rng.choice(factors)
            shape[at : at + 1] = [k, shape[at] // k]
        elif draw < 0.8 and at + 1 < len(shape):
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        elif draw < 0.9:
            shape = [math.prod(shape)]
        else:
            shape.insert(at, 1)
        return self._moved(self.b.reshape(x, shape), x) if len(shape) <= 6 else None

    def _barrier(self) -> int | None:
        x = self._pick()
        return self._moved(self.b.add("barrier", (x,), (self.rng.randrange(2),)), x)

    def _permute(self) -> int | None:
        x = self._pick(lambda i: len(self._ints(i)) > 1)
        perm = list(range(len(self._ints(x))))
        self.rng.shuffle(perm)
        return self._moved(self.b.permute(x, perm), x)

    def _expand(self) -> int | None:
        """Grows an axis of size 1, made first where there is none."""
        x = self._pick(lambda i: len(self._ints(i)) < 5)
        shape = list(self._ints(x))
        ones = [i for i, d in enumerate(shape) if d == 1]
        if not ones:
            ones = [self.rng.randint(0, len(shape))]
            shape.insert(ones[0], 1)
        grown = list(shape)
        grown[self.rng.choice(ones)] = self.rng.choice((2, 3, 4, 5))
        return self._moved(self.b.expand(self.b.reshape(x, shape), grown), x)

    def _slice(self) -> int | None:
        x = self._pick(lambda i: bool(self._ints(i)))
        shape = self._ints(x)
        start, size, step = [0] * len(shape), list(shape), [1] * len(shape)
        for a in range(len(shape)):
            if shape[a] and self.rng.random() < 0.5:
                by = self.rng.choice((1, 1, 2, -1, -2))
                part = range(shape[a])[::by][self.rng.choice((0, 0, 1)) :]
                part = part[: self.rng.randint(1, max(len(part), 1))]
                first = part[0] if part else 0
                start[a], size[a], step[a] = first, len(part), by
        return self._moved(self.b.slice(x, start, size, step), x)

    def _pad(self) -> int | None:
        x = self._pick()
        low, high = (
            [self.rng.choice((0, 0, 1, 2)) for _ in self._ints(x)] for _ in "ab"
        )
        value = self._value(self.b.type(x).dtype) if self.rng.random() < 0.4 else 0
        bound = Bound(abs(float(value)), 2 if self._is_float(x) else 0)
        return self._checked(
            self.b.pad(x, low, high, value), self.bound[x].either(bound)
        )

    def _window(self) -> int | None:
        x = self._pick(lambda i: 0 < len(self._ints(i)) < 5)
        axis = self.rng.randrange(len(self._ints(x)))
        n = self._ints(x)[axis]
        if n < 2:
            return None
        size, stride = self.rng.randint(1, min(n, 3)), self.rng.choice((1, 1, 2))
        dilation = self.rng.choice((1, 1, 2)) if (size - 1) * 2 < n else 1
        return self._moved(self.b.window(x, axis, size, stride, dilation), x)

    def _concat(self) -> int | None:
        x = self._pick(lambda i: bool(self._ints(i)))
        axis = self.rng.randrange(len(self._ints(x)))

        def joins(i: int) -> bool:
            a, b = self._ints(i), self._ints(x)
            same = a[:axis] + a[axis + 1 :] == b[:axis] + b[axis + 1 :]
            return (
                len(a) == len(b)
                and same
                and self.b.type(i).dtype is (self.b.type(x).dtype)
            )

        y = self._pick(joins)
        parts = [x, y] if self.rng.random() < 0.7 else [y, x, x]
        return self._checked(
            self.b.concat(parts, axis), self.bound[x].either(self.bound[y])
        )
