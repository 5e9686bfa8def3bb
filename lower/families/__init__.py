"""Schedule families: each knows which kernels it takes, their price and their loops."""

from ..model import Family
from .contract import CONTRACT
from .fold import FOLD
from .full import FULL
from .rows import COLUMN, MAP, ROW
from .transpose import TRANSPOSE
from .window import WINDOW

FAMILIES: tuple[Family, ...] = (
    CONTRACT,
    WINDOW,
    FOLD,
    MAP,
    ROW,
    COLUMN,
    FULL,
    TRANSPOSE,
)


def families_for(strict: bool) -> tuple[Family, ...]:
    """Strictly, a sum is what its terms are: no running value is corrected."""
    return tuple(f for f in FAMILIES if not (strict and f is FOLD))
