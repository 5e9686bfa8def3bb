"""Schedule families: each knows which kernels it takes, their price and their loops."""

from ..model import Family
from .contract import CONTRACT
from .rows import COLUMN, MAP, ROW

FAMILIES: tuple[Family, ...] = (MAP, ROW, COLUMN, CONTRACT)
