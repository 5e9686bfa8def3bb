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
from .winograd import WINOGRAD

FAMILIES: tuple[Family, ...] = (
    CONTRACT,
    WINDOW,
    WINOGRAD,
    FOLD,
    MAP,
    ROW,
    COLUMN,
    FULL,
    TRANSPOSE,
    SCATTER,
)


LOOSE = (FOLD, WINOGRAD)  # a sum is of other terms than the kernel says


def families_for(strict: bool) -> tuple[Family, ...]:
    """Strictly, a sum is what its terms are: no running value is corrected, no product
    of sums stands for several."""
    return tuple(f for f in FAMILIES if not (strict and f in LOOSE))


def candidates_for(strict: bool) -> tuple[Family, ...]:
    """What a search may choose; the last one is nobody's own decision."""
    return (*families_for(strict), LIBRARY)
