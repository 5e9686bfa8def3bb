"""Schedule families: each knows which kernels it takes, their price and their loops."""

from ..model import Family
from .contract import CONTRACT
from .full import FULL
from .rows import COLUMN, MAP, ROW
from .transpose import TRANSPOSE

FAMILIES: tuple[Family, ...] = (CONTRACT, MAP, ROW, COLUMN, FULL, TRANSPOSE)
