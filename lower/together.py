"""Products that the threads of a group make together, each with its own elements of
both sides and of the result (`fragments.py`)."""

from __future__ import annotations

import numpy as np

from ..egraph.ir.dtypes import BF16, F32
from ..egraph.ir.scalars import Array
from . import fragments
from .evaluate import Env
from .loops import PANEL, Mma, Regroup, Send
from .statements import ASIDE, THREAD, Statements, garbage
from .walking import variables

PRODUCTS = "products under way"
LEFT = "the left side of a product, as all threads hold it"


class Products(Statements):
    def put_together(self, s: Mma, envs: list[Env]) -> None:
        """A left side that threads hold, or both sides that warps do."""
        if s.warps == 1:
            for first in range(0, len(envs), fragments.WARP):
                self.by_quads(s, envs[first : first + fragments.WARP])
            return
        held = [e[s.a.array] for e in envs]
        of = F32 if held[0].dtype == np.float32 else BF16
        places = fragments.left_places(s.m, s.k, self.threads, of)
        whole = np.zeros((s.m, s.k), held[0].dtype)
        whole[places] = np.stack(held)
        for e in envs:
            e[LEFT] = whole, e[s.a.array].copy()

    def by_quads(self, s: Mma, envs: list[Env]) -> None:
        """A warp's product of what its threads hold."""
        quads = fragments.Quads(s.m, s.n, s.k)
        rows, columns, k = quads.sides()
        whole: list[Array] = []
        for side, own, size in ((s.a, rows, s.m), (s.b, columns, s.n)):
            held = np.stack([e[side.array] for e in envs]).astype(np.float32)
            made = np.zeros((size, s.k), np.float32)
            made[own[:, :, None], k[:, None]] = held.reshape(*own.shape, -1)
            whole.append(made)
        left, right = whole
        product = left @ right.T
        for e, i, j in zip(envs, *quads.sums(), strict=True):
            e[s.out] += product[i, j]

    def multiply(self, s: Mma, env: Env) -> None:
        """A thread's own elements of the product, in its own array."""
        *left_shared, right = (
            self.panels(x, env[x.array], int(self.ex(x.at)(env)), rows, columns)
            for x, rows, columns in s.matrices
        )
        if s.own:
            left, before = env[LEFT]
            if not np.array_equal(before, env[s.a.array]):
                left = garbage(left.dtype, left.size).reshape(left.shape)
        else:
            (left,) = left_shared
        t = env[THREAD]
        places = fragments.places(s.m, s.n, self.threads, s.across, s.warps)
        rows, columns = (p[t] for p in places)
        if s.warps == fragments.FOUR:
            left, right = fragments.seen(left), fragments.seen(right)
        total = left.astype(np.float32)[rows] * right.astype(np.float32).T[columns]
        if s.fresh:
            env[s.out][:] = 0
        env[s.out] += total.sum(1)

    def send(self, s: Send, envs: list[Env]) -> None:
        """What threads hold, put together, then by each warp its pieces."""
        places = fragments.places(s.m, s.n, self.threads, s.across, fragments.FOUR)
        whole = np.zeros((s.m, s.n), np.float32)
        whole[places] = np.stack([e[s.source] for e in envs])
        env = envs[0]
        first = tuple(int(self.ex(c)(env)) for c in s.box.corner)
        pieces = env[s.box.array][int(self.ex(s.box.at)(env)) :]
        rows, columns = (p.reshape(-1, fragments.WARP * p.shape[1]) for p in places)
        each = pieces.reshape(len(rows), -1, s.box.size)
        for mine, i, j in zip(each, rows, columns, strict=True):
            first_row = i // fragments.ROWS * fragments.ROWS
            within = np.minimum((j - j.min()) // PANEL * PANEL, s.n // s.across - PANEL)
            corners = sorted({*zip(first_row, j.min() + within, strict=True)})
            buffer = env[s.box.tensor.source]
            lying = whole.T if s.turned else whole
            env[ASIDE].send(s.box.tensor, first, lying, corners, mine, buffer, s.turned)

    def regroup(self, s: Regroup, envs: list[Env]) -> None:
        for first in range(0, len(envs), 4):
            quad = envs[first : first + 4]
            held = [e[s.source].reshape(-1, 4, s.mid, s.last) for e in quad]
            for q, env in enumerate(quad):
                made = np.stack([x[:, q] for x in held], axis=2)
                env[s.to] = made.reshape(-1).copy()

    def kept(self, s: Mma, env: Env) -> Env:
        """What the places of both sides are computed from, as it is now."""
        names = {v.name for x, _, _ in s.matrices for v in variables(x.at)}
        more = {LEFT: env[LEFT]} if s.own else {}
        return {**{n: env[n] for n in names}, **more}

    def finish(self, env: Env, left: int) -> None:
        """Products that go on are as late as they can be."""
        late = env[PRODUCTS]
        while len(late) > left:
            s, at = late.pop(0)
            self.multiply(s, {**env, **at})
