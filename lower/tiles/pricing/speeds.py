"""How fast GPUs are at what tile programs do, as measured: for the price of a program
and for bounds of those that are not written yet."""

from __future__ import annotations

from math import hypot

from ...families.folds.shared_tiles import SPEEDS
from ...fragments import HIGH
from ...model import DeviceModel

ACCESS = 0.5  # flops worth of one access
CONVERT = 1  # and of reading or making a small float
UNPACK = 1  # and of a small integer that goes from its byte to a side
TO_SHARED = 4  # and of an element that threads exchange
REGISTERS, OTHERS = 1 << 16, 40  # of a unit; of a thread, that are no sums
# Of a unit and cycle: multiply-adds of warps' instructions, and bytes that it reads
# from shared memory for them.
MATRIX, GROUPED, SHARED = 1290, 2048, 128
MANY = {64: 1.17, 128: 1.29}  # of a thread's sums, where it has registers for them
LATENCY = 1e-6  # seconds from asking memory to its answer
# Bytes a second that one unit reads: a sum of 2^28 floats by 64 of them takes 286 us,
# by 32 440, by all 242 (H200).
UNIT = 85e9
FILL = 2.5e-6  # seconds to fill rings and to store sums, of those that run at once
HIDDEN = 0.3  # of the shorter of the two, that is not hidden
# Where threads beside the team copy: how much more of their speed groups reach, seconds
# from a turn's copies to its products, and from the last product to the next instance.
ALONE, TURN, END = 1.28, 2e-7, 1e-6
PAIR, ALIKE = 3e-6, 12  # seconds for two to begin and end together; of `hardly_more`
TILE = 128 * 256  # points of such an instance
DELAY = 6e-7  # of a turn's copies, over the turns that they are ahead
# Seconds from the products of a turn to those that wait for what is computed of them.
# While one group computes others multiply: 64 x 4096 x 64 forwards takes 611 us by two
# of 64 rows and 128 places, 541 by three, 730 by two with 64 places (H200).
STATES = 1.7e-7


def speed_of_threads(sums: int, model: DeviceModel) -> float:
    """Of the model's multiply-adds, where each thread has so many sums."""
    known = {**SPEEDS, **MANY} if model.matrix else SPEEDS
    return known.get(sums, min(SPEEDS.values()))


def speed_of_warps(rows: int, columns: int) -> float:
    """Of their multiply-adds, where a warp has so many rows and columns: what it reads
    for them comes from shared memory."""
    work = rows * columns / MATRIX
    read = 2 * (rows + columns) / SHARED
    return work / (max(work, read) + HIDDEN * min(work, read))


def speed_of_groups(columns: int) -> float:
    """Of their multiply-adds, where an instruction has so many columns and 64 rows."""
    work, read = columns / GROUPED, 2 * (1 + columns / HIGH) / SHARED
    return work / (max(work, read) + HIDDEN * min(work, read))


def speed_of_turns(
    macs: int, columns: int, model: DeviceModel, itemsize: int = 2
) -> float:
    """Multiply-adds a second of groups that do so many each turn, by instructions of so
    many columns, and copy nothing; `itemsize`: an instruction takes as long for as many
    bytes."""
    units = max(model.units // 2, 1)
    fastest = model.grouped * ALONE * speed_of_groups(columns) * 2 / itemsize
    return units * macs / hypot(units * macs / fastest, TURN)


def few_units(instances: int, model: DeviceModel) -> float:
    """How many times longer so many take to read what all units together would."""
    units = max(model.units // 2, 1)
    shares = (model.bandwidth / (n * UNIT) for n in (min(instances, units), units))
    few, every = (1 + x**3 for x in shares)
    return (few / every) ** (1 / 3)


def hardly_more(a: float, b: float) -> float:
    """Than the longer of two that run side by side, unless they are nearly alike."""
    return (a**ALIKE + b**ALIKE) ** (1 / ALIKE)
