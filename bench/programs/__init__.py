"""Programs of array code, as people write them, that need not cost what they look."""

from . import learning, matrices, physics, statistics, sums
from .program import Program, program

FILES = (sums, statistics, matrices, physics, learning)
PROGRAMS = {name: p for file in FILES for name, p in program.programs.items()
            if p.f.__module__ == file.__name__}  # fmt: skip

__all__ = ["FILES", "PROGRAMS", "Program"]
