"""Linear models."""

from __future__ import annotations

import numpy as np

from rewrite.egraph.ir.dtypes import F32

from ...site import CLASSICAL, Site, Unread, op
from .features import table


@op("LinearRegressor", domain=CLASSICAL)
def regressor(s: Site) -> int:
    """x wᵀ + intercepts, for each target."""
    if s.attr("post_transform", "NONE") != "NONE":
        raise Unread("a transformed result")
    if len(table(s)) != 2:
        raise Unread("one sample without an axis of its own")
    targets = int(s.attr("targets", 1))
    w = np.asarray(s.attr("coefficients"), np.float32).reshape(targets, -1)
    y = s.b.matmul(s.b.cast(s.x(0), F32), s.b.array(np.ascontiguousarray(w.T)))
    intercepts = s.attr("intercepts")
    if not intercepts:
        return y
    return s.bin("add", y, s.b.array(np.asarray(intercepts, np.float32)))
