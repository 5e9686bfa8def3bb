"""Integer powers of a base that is the same in a loop: gcc took memory without end."""

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp


@pytest.mark.parametrize("kind", ["int32", "int64", "uint64"])
@pytest.mark.parametrize("fixed", ["base", "exponent"])
def test_one_side_is_the_same_in_a_loop(kind: str, fixed: str) -> None:
    one, many = np.array([3], kind), np.arange(50).astype(kind)
    x, y = (one, many) if fixed == "base" else (many, one)
    made = rw.optimize(xp.pow, x, y, device="c", fallback=False)
    np.testing.assert_array_equal(made(x, y), np.power(x, y))
