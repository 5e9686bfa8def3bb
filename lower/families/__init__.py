"""Schedule families: each knows which kernels it takes, their price and their loops."""

from ..model import Family
from .contract import CONTRACT
from .fold import FOLD
from .full import FULL
from .library import LIBRARY
from .rows import COLUMN, MAP, ROW
from .scatter import SCATTER
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
    SCATTER,
)


def families_for(strict: bool) -> tuple[Family, ...]:
    """Strictly, a sum is what its terms are: no running value is corrected."""
    return tuple(f for f in FAMILIES if not (strict and f is FOLD))


def candidates_for(strict: bool) -> tuple[Family, ...]:
    """What a search may choose; the last one is nobody's own decision."""
    return (*families_for(strict), LIBRARY)
