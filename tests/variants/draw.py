"""Random choices that are written down, so that a variant says what it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random

from rewrite.egraph.ir.dtypes import F16, F32, F64, DType
from rewrite.egraph.ir.ops import TensorType

PRIMES = (2, 3, 5, 7, 11, 13, 17)
SIZES = (1, *PRIMES, 4, 8, 16, 32, 33, 61, 64, 96, 128, 251, 256, 509, 512)
REAL = (1, 2, 4, 16, 61, 128, 256, 509, 1000, 1024, 2048, 4096)


class Draw:
    """The choices of one variant; `words` names them in the order they were made.

    Sizes are drawn apart from all else, so that a variant has a twin of `real` sizes,
    at which a launch is not what costs most.
    """

    def __init__(self, workload: str, seed: int, real: bool = False) -> None:
        self.rng = Random(f"{workload} {seed}")
        self.sizes = Random(f"sizes {workload} {seed} {real}")
        self.words: list[str] = []
        self.real = real

    @property
    def text(self) -> str:
        return ", ".join(self.words)

    def pick[T](self, what: str, options: Mapping[str, T]) -> T:
        """One of the options; its name is written down."""
        name = self.rng.choice(tuple(options))
        if name:
            self.words.append(f"{what} {name}" if what else name)
        return options[name]

    def form[T](self, what: str, options: Mapping[str, Callable[[], T]]) -> T:
        """One of several spellings of a value; the others are never traced."""
        return self.pick(what, options)()

    def flip(self, what: str, chance: float = 0.5) -> bool:
        """Whether a thing is done; written down where it is."""
        done = self.rng.random() < chance
        if done:
            self.words.append(what)
        return done

    def swap[T](self, pair: tuple[T, T]) -> tuple[T, T]:
        return (pair[1], pair[0]) if self.rng.random() < 0.5 else pair

    def size(self, low: int = 1, high: int = 64) -> int:
        """A size: often a prime, sometimes 1."""
        return self.sizes.choice([n for n in SIZES if low <= n <= high])

    def among(self, small: Sequence[int], real: Sequence[int]) -> int:
        return self.sizes.choice(tuple(real if self.real else small))

    def shape(self, rank: int, high: int = 64, low: int = 1) -> tuple[int, ...]:
        """Some thousand elements; of a real one some million, and many rows."""
        while True:
            sizes = tuple(
                self.sizes.choice(REAL[3:]) if self.real else self.size(low, high)
                for _ in range(rank)
            )
            n = math.prod(sizes)
            fits = 1 << 20 <= n <= 1 << 26 and n >= 512 * max(sizes)
            if (fits or rank == 1) if self.real else n <= 1 << 13:
                self.words.append("x".join(map(str, sizes)))
                return sizes

    def dtype(self, narrow: float = 0.15, wide: float = 0.1) -> DType:
        at = self.rng.random()
        found = F16 if at < narrow else F64 if at < narrow + wide else F32
        if found is not F32:
            self.words.append(found.name)
        return found

    def order(self, rank: int, chance: float = 0.4) -> tuple[int, ...]:
        """A permutation of the axes, often none."""
        axes = list(range(rank))
        if rank > 1 and self.rng.random() < chance:
            self.rng.shuffle(axes)
        if axes != sorted(axes):
            self.words.append(f"permuted {axes}")
        return tuple(axes)


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(order.index(i) for i in range(len(order)))


def typed(dtype: DType, shape: Sequence[int]) -> TensorType:
    return TensorType(dtype, tuple(shape))
