"""Schedule families: each knows which kernels it takes, their price and their loops."""

from .families.contract import CONTRACT
from .families.fold import FOLD
from .families.full import FULL
from .families.library import LIBRARY
from .families.order import ORDER
from .families.rows import COLUMN, MAP, ROW
from .families.scan import SCAN
from .families.scatter import SCATTER
from .families.stencil import STENCIL
from .families.transpose import TRANSPOSE
from .families.window import WINDOW
from .families.winograd import WINOGRAD
from .model import Family
from .tiles.attention import ONLINE
from .tiles.contract import BY_GROUP, BY_WARP
from .tiles.folds import FOLDED
from .tiles.laid import LAID
from .tiles.staged import TILED
from .tiles.streaming.warps import BY_WARPS

FAMILIES: tuple[Family, ...] = (
    CONTRACT,
    WINDOW,
    WINOGRAD,
    STENCIL,
    FOLD,
    MAP,
    ROW,
    COLUMN,
    FULL,
    TRANSPOSE,
    SCATTER,
    SCAN,
    ORDER,
    *TILED,
    LAID,
    ONLINE,
)


# A sum is of other terms than the kernel says, or rounded otherwise.
LOOSE = (FOLD, WINOGRAD, BY_WARP, BY_GROUP, FOLDED, LAID, ONLINE, BY_WARPS)


def families_for(strict: bool) -> tuple[Family, ...]:
    """Strictly, a sum is what its terms are: no running value is corrected, no product
    of sums stands for several."""
    return tuple(f for f in FAMILIES if not (strict and f in LOOSE))


def candidates_for(strict: bool) -> tuple[Family, ...]:
    """What a search may choose; the last one is nobody's own decision."""
    return (*families_for(strict), LIBRARY)
