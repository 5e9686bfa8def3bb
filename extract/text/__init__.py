"""The text form of kernels and schedules: `show` prints a schedule and `parse` reads it
back exactly; `show_kernel` and `parse_kernel` do so for one kernel.

    kernel k0(b0: f32[8192], out b1: f32[8192]) over i0 < 64, i1 < 128 {
      v0[i0, i1]: f32 = b0[128 * i0 + i1]          ; a comment
      v1[i0]: f32 = reduce max v0 over [i1] acc=f32
      v2[i0, i1]: f32 = sub v0 v1
      b1[128 * i0 + i1] = v2 over [i0, i1]
    }

    schedule {
      input x: f32[64, 128]
      output y: f32[64, 128]
      y = k0(x)
      return y
    }

Loops, values and buffers of a kernel are numbered in order; a value says the loops
that it varies along, its type, and its expression (`Expr`).  A buffer of a schedule is
called by its label where that is a word and not taken, else `%number`.  Equal kernels
are printed once.  `docs/schedules.md` describes the language.
"""

from .parse import ScheduleError, parse, parse_kernel
from .show import show, show_kernel

__all__ = ["ScheduleError", "parse", "parse_kernel", "show", "show_kernel"]
