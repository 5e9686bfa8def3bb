"""What a function captures is read at each call: closures, globals, attributes."""

from __future__ import annotations

import functools
import gc
import types
import weakref
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rewrite as rw
from rewrite import xp
from rewrite.egraph.ir.evaluate import InputError

GLOBAL = np.ones(3, np.float32)
FACTOR = 2.0
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def jit(f: Any) -> Any:
    return rw.jit(f, device="numpy", fallback=False)


def of_globals(x: Any) -> Any:
    return helper(x) + GLOBAL


def helper(x: Any) -> Any:
    return x * FACTOR


class Linear:
    scale = 1.0

    def __init__(self, n: int = 3) -> None:
        self.w = np.eye(3, n, dtype=np.float32)
        self.b = np.zeros(n, np.float32)
        self.seen = 0

    @rw.jit(device="numpy", fallback=False)
    def __call__(self, x: Any) -> Any:
        return (x @ self.w + self.b) * self.scale

    def plain(self, x: Any) -> Any:
        return (x @ self.w + self.b) * self.scale


def test_attributes_of_self_are_read_at_each_call() -> None:
    m, other = Linear(), Linear()
    np.testing.assert_array_equal(m(X), X)
    m.w = 2 * m.w
    np.testing.assert_array_equal(m(X), 2 * X)
    m.w += 1
    np.testing.assert_array_equal(m(X), X @ m.w)
    np.testing.assert_array_equal(other(X), X)
    m.b = np.ones(3, np.float32)
    m.scale = 3.0
    np.testing.assert_array_equal(m(X), m.plain(X))
    m.w, m.b = np.ones((3, 2), np.float32), np.zeros(2, np.float32)
    np.testing.assert_array_equal(m(X), m.plain(X))


def test_globals_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = jit(of_globals)
    np.testing.assert_array_equal(fast(X), X * 2 + 1)
    monkeypatch.setitem(globals(), "GLOBAL", np.full(3, 5, np.float32))
    np.testing.assert_array_equal(fast(X), X * 2 + 5)
    GLOBAL[:] = 7
    np.testing.assert_array_equal(fast(X), X * 2 + 7)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    np.testing.assert_array_equal(fast(X), X * 3 + 7)
    monkeypatch.setitem(globals(), "helper", lambda x: -x)
    np.testing.assert_array_equal(fast(X), 7 - X)


def test_one_call_sees_one_state_of_an_array() -> None:
    y = np.ones(3, np.float32)
    fast = rw.optimize(lambda x: (x + y, x + 2 * y), X, device="numpy")
    for value in (1, 5):
        y[:] = value
        one, two = fast(X)
        np.testing.assert_array_equal(one, X + value)
        np.testing.assert_array_equal(two, X + 2 * value)


def test_numpy_on_captured_arrays_is_traced_too() -> None:
    w, rows = np.ones((3, 2), np.float32), [np.ones((2, 3), np.float32)]
    fast = jit(lambda x: x @ (w * 2)[:, ::-1] + (rows[0].T)[0, 0] + w[0])
    for _ in range(2):
        want = X @ (w * 2)[:, ::-1] + rows[0].T[0, 0] + w[0]
        np.testing.assert_array_equal(fast(X), want)
        w[0], rows[0] = 4, rows[0] * 3


def test_an_array_made_inside_is_a_constant() -> None:
    fast = jit(lambda x: x @ np.eye(3, dtype=np.float32))
    np.testing.assert_array_equal(fast(X), X)
    assert len(fast.graph.inputs) == 1 and len(fast.graph.data) == 1


@dataclass
class Block:
    w: Any
    parts: list[Any] = field(default_factory=list[Any])
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    parent: Any = None

    def apply(self, x: Any) -> Any:
        x = x * self.w
        for part in self.parts:
            x = part.apply(x)
        return x + self.names.get("bias", 0)


def test_structures_are_followed_and_watched() -> None:
    top = Block(np.float32(2), [Block(np.full(3, 2, np.float32))], {})
    top.parts[0].parent = top  # a cycle
    fast = jit(lambda x: top.apply(x))
    np.testing.assert_array_equal(fast(X), top.apply(X))
    top.parts[0].w = np.full(3, 3, np.float32)
    np.testing.assert_array_equal(fast(X), top.apply(X))
    top.parts.append(Block(np.full(3, 5, np.float32)))
    np.testing.assert_array_equal(fast(X), top.apply(X))
    top.names["bias"] = np.ones(3, np.float32)
    np.testing.assert_array_equal(fast(X), top.apply(X))
    top.parts = []
    np.testing.assert_array_equal(fast(X), top.apply(X))
    top.w = 4  # a number of Python's where a NumPy scalar was
    np.testing.assert_array_equal(fast(X), top.apply(X))


def test_tied_weights_may_come_apart() -> None:
    a = np.ones(3, np.float32)
    m = types.SimpleNamespace(first=a, second=a)
    fast = jit(lambda x: x * m.first + m.second)
    np.testing.assert_array_equal(fast(X), X + 1)
    a[:] = 2
    np.testing.assert_array_equal(fast(X), X * 2 + 2)
    m.second = np.zeros(3, np.float32)
    np.testing.assert_array_equal(fast(X), X * 2)


def test_what_is_not_read_is_not_watched() -> None:
    traces: list[int] = []

    class Counted(Linear):
        def forward(self, x: Any) -> Any:
            traces.append(1)
            return x @ self.w

    m = Counted()
    fast = jit(m.forward)
    for _ in range(4):
        fast(X)
        m.seen += 1
        m.b = np.ones(m.seen, np.float32)
    assert len(traces) == 1


def test_zeros_of_two_signs_and_numbers_of_two_types_differ() -> None:
    m = types.SimpleNamespace(k=0.0)
    fast = jit(lambda x: xp.copysign(xp.ones_like(x), xp.full_like(x, m.k)))
    assert fast(X)[0, 0] == 1
    m.k = -0.0
    assert fast(X)[0, 0] == -1
    last = jit(lambda x, k: xp.copysign(xp.ones_like(x), xp.full_like(x, k)))
    assert (last(X, 0.0)[0, 0], last(X, -0.0)[0, 0]) == (1, -1)


def test_methods_partials_and_callable_objects() -> None:
    class Tools:
        shift = np.ones(3, np.float32)

        @staticmethod
        @rw.jit(device="numpy", fallback=False)
        def doubled(x: Any) -> Any:
            return x * 2

        @classmethod
        @rw.jit(device="numpy", fallback=False)
        def shifted(cls, x: Any) -> Any:
            return x + 1

        @rw.jit(device="numpy", fallback=False)
        @staticmethod
        def halved(x: Any) -> Any:
            return x / 2

        @property
        def offset(self) -> Any:
            return self.shift * 2

        def __matmul__(self, x: Any) -> Any:
            return x + self.offset

    tools = Tools()
    np.testing.assert_array_equal(tools.doubled(X), X * 2)
    np.testing.assert_array_equal(tools.shifted(X), X + 1)
    np.testing.assert_array_equal(Tools.halved(X), X / 2)
    np.testing.assert_array_equal(jit(lambda x: tools @ x)(X), X + 2)
    m, w = Linear(), np.full(3, 2, np.float32)
    for f in (m.plain, functools.partial(lambda w, x, k: w * x * k, w, k=1.0)):
        fast = jit(f)
        np.testing.assert_array_equal(fast(X), f(X))
        w *= 2
        m.w = m.w * 3
        np.testing.assert_array_equal(fast(X), f(X))


def test_a_jit_in_a_jit_and_in_optimize_is_inlined() -> None:
    w = np.ones(3, np.float32)
    inner = jit(lambda x: x * w)
    outer = jit(lambda x: inner(x) + inner(x + 1))
    for fast in (outer, rw.optimize(inner, X, device="numpy")):
        before = fast(X)
        w *= 2
        np.testing.assert_array_equal(fast(X), 2 * before)
    assert [n.attrs[0] for n in outer.graph.inputs] == ["x", "w"]


def test_optimize_says_what_has_changed() -> None:
    m = Linear()
    fast = rw.optimize(m.plain, X, device="numpy")
    m.w = 3 * m.w
    np.testing.assert_array_equal(fast(X), 3 * X)
    m.scale = 2.0
    with pytest.raises(InputError, match=r"self.scale was 1.0 and is 2.0.*rewrite.jit"):
        fast(X)
    m.scale = 1.0
    m.w = np.ones((3, 5), np.float32)
    with pytest.raises(InputError, match=r"self.w was float32\[3, 3\].*\[3, 5\]"):
        fast(X)
    del m.w
    with pytest.raises(InputError, match="not there any more"):
        fast(X)


def test_a_constant_is_built_in_and_cannot_change() -> None:
    w = rw.constant(np.eye(3, dtype=np.float32) * 2)
    fast = jit(lambda x: x @ w)
    np.testing.assert_array_equal(fast(X), 2 * X)
    assert len(fast.graph.inputs) == 1
    with pytest.raises(ValueError, match="read-only"):
        w[0] = 1
    m = Linear()
    m.w = w
    np.testing.assert_array_equal(m(X), 2 * X)
    m.w = rw.constant(3 * w)
    np.testing.assert_array_equal(m(X), 6 * X)


def test_a_constant_array_is_copied_when_it_is_traced() -> None:
    w = np.ones(3, np.float32)
    graph = xp.trace(lambda x: x + w, X)
    run = rw.compile_graph(graph, "numpy")
    w[:] = 9
    np.testing.assert_array_equal(run({"x": X})["out0"], X + 1)


def test_assignments_that_would_be_lost_are_errors() -> None:
    m, count = Linear(), 0

    def sets(x: Any) -> Any:
        m.seen = 5
        return x

    def counts(x: Any) -> Any:
        nonlocal count
        count += 1
        return x

    with pytest.raises(TypeError, match=r"m\.seen is assigned by the function"):
        jit(sets)(X)
    with pytest.raises(TypeError, match="'count', which is not local, is assigned"):
        jit(counts)(X)
    assert (m.seen, count) == (0, 0)
    with pytest.warns(RuntimeWarning, match="runs as written"):
        rw.jit(sets, device="numpy")(X)
    assert m.seen == 5


def test_a_bundle_holds_what_was_captured(tmp_path: Path) -> None:
    m = Linear()
    m(X)
    m.w *= 2
    m.b = np.ones(3, np.float32)
    m.__call__.save(tmp_path / "m.rw")
    want = m(X)
    m.w[:] = 0
    fast = rw.load(tmp_path / "m.rw", device="numpy")
    np.testing.assert_array_equal(fast(X), want)
    fast.save(tmp_path / "again.rw")
    np.testing.assert_array_equal(rw.load(tmp_path / "again.rw")(X), want)


def test_programs_do_not_keep_objects_alive() -> None:
    m = Linear()
    m(X)
    gone = weakref.ref(m)
    del m
    gc.collect()
    assert gone() is None


def test_an_object_that_is_an_argument_is_read_too() -> None:
    fast = jit(lambda x, m: x @ m.w * m.scale)
    m, other = Linear(), Linear()
    other.scale = 4.0
    np.testing.assert_array_equal(fast(X, m), X)
    np.testing.assert_array_equal(fast(X, other), 4 * X)
    np.testing.assert_array_equal(fast(X, m=m), X)


def test_default_arguments_are_captured() -> None:
    w = np.ones(3, np.float32)

    def f(x: Any, y: Any = w, *, z: Any = w) -> Any:
        return x + y + z

    fast = jit(f)
    np.testing.assert_array_equal(fast(X), X + 2)
    w *= 2
    np.testing.assert_array_equal(fast(X), X + 4)


def test_a_function_of_another_module_is_read_through_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    module = types.ModuleType("weights_of_mine")
    module.__file__ = "weights_of_mine.py"
    exec(  # a module of the user's
        compile("def f(x):\n    return x * W", "weights_of_mine.py", "exec"),
        module.__dict__,
    )
    module.__dict__["W"] = np.ones(3, np.float32)
    monkeypatch.setitem(sys.modules, "weights_of_mine", module)
    fast = jit(lambda x: module.f(x) + module.W)
    np.testing.assert_array_equal(fast(X), X + 1)
    module.__dict__["W"] = np.full(3, 2, np.float32)
    np.testing.assert_array_equal(fast(X), X * 2 + 2)


class Slotted:
    __slots__ = ("k", "w")

    def __init__(self) -> None:
        self.w, self.k = np.ones(3, np.float32), 1.0


def test_slots_and_inherited_methods() -> None:
    s = Slotted()

    class Deep(Linear):
        def plain(self, x: Any) -> Any:
            return super().plain(x) + s.w * s.k

    m = Deep()
    fast = jit(m.plain)
    np.testing.assert_array_equal(fast(X), X + 1)
    s.w, s.k, m.w = s.w * 2, 2.0, m.w * 2
    np.testing.assert_array_equal(fast(X), 2 * X + 4)


class Registered(type):
    made: list[Any] = []  # noqa: RUF012

    def __init__(cls, *args: Any) -> None:
        Registered.made.append(cls)
        super().__init__(*args)


class Module(metaclass=Registered):
    known: list[Any] = []  # noqa: RUF012

    def __init_subclass__(cls) -> None:
        Module.known.append(cls)

    def __init__(self) -> None:
        self.w, self.inside = np.ones(3, np.float32), dict[str, Any]()

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("inside", {}):
            return self.inside[name]
        raise AttributeError(name)

    def __call__(self, x: Any) -> Any:
        return self.forward(x) * GLOBAL

    @property
    def offset(self) -> Any:
        return GLOBAL * 2


class Net(Module):
    def forward(self, x: Any) -> Any:
        assert isinstance(self, Module) and self.__class__ is Net
        return self.layer(x) * self.w


class Layer(Module):
    def forward(self, x: Any) -> Any:
        return x + self.w

    def __call__(self, x: Any) -> Any:
        return super().__call__(x) + super().offset


def test_modules_with_hooks_and_super(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net()
    net.inside["layer"] = Layer()
    hooks = len(Registered.made), len(Module.known)
    fast = jit(net)
    for _ in range(2):
        np.testing.assert_array_equal(fast(X), net(X))
        net.layer.w, net.w = net.layer.w * 2, net.w * 3
        monkeypatch.setitem(globals(), "GLOBAL", np.full(3, 3, np.float32))
    net.inside["layer"] = Layer()
    np.testing.assert_array_equal(fast(X), net(X))
    assert hooks == (len(Registered.made), len(Module.known))


class Settings:
    scale = 2.0
    w = np.ones(3, np.float32)


def test_classes_as_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = jit(lambda x: x * Settings.scale * Settings.w + Linear.scale)
    np.testing.assert_array_equal(fast(X), X * 2 + 1)
    monkeypatch.setattr(Settings, "scale", 3.0)
    monkeypatch.setattr(Settings, "w", np.full(3, 2, np.float32))
    monkeypatch.setattr(Linear, "scale", 5.0)
    np.testing.assert_array_equal(fast(X), X * 6 + 5)


def test_absence_is_watched() -> None:
    m, extra = Linear(), None
    first = jit(lambda x: x * 2 if hasattr(m, "more") else x)
    second = jit(lambda x: x * getattr(m, "more", 3.0))
    third = jit(lambda x: x if extra is None else x + extra)
    got = [f(X)[0, 1] for f in (first, second, third)]
    assert got == [1, 3, 1]
    m.more, extra = 4.0, np.ones(3, np.float32)  # type: ignore[attr-defined]
    assert [f(X)[0, 1] for f in (first, second, third)] == [2, 4, 2]


def test_threads_may_share_a_jit() -> None:
    from concurrent.futures import ThreadPoolExecutor

    m = Linear()
    with ThreadPoolExecutor(4) as pool:
        for k, y in enumerate(pool.map(lambda k: m(X + k), range(32))):
            np.testing.assert_array_equal(y, X + k)


def test_code_that_runs_under_no_name_is_read_too() -> None:
    scope: dict[str, Any] = {"np": np}
    exec(  # as in a notebook's cell or a doctest
        "class M:\n    w = np.ones(3, np.float32)\n    def f(self, x):\n"
        "        return x * self.w\nm = M()",
        scope,
    )
    m = scope["m"]
    fast = jit(m.f)
    np.testing.assert_array_equal(fast(X), X)
    m.w = 2 * m.w
    np.testing.assert_array_equal(fast(X), 2 * X)


class Table:
    """Makes itself an array, as data frames do."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype)


class Foreign(Table):
    """Of a class whose objects have no stand-in, as those of extension types."""

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


@pytest.mark.parametrize("kind", [Table, Foreign])
def test_what_makes_itself_an_array_is_read_at_each_call(kind: Any) -> None:
    table = kind([1.0, 2.0, 3.0])
    fast = jit(lambda x: x * table + table + np.multiply(x, table))
    np.testing.assert_array_equal(fast(X), X * 2 * [1, 2, 3] + [1, 2, 3])
    table.values = [4.0, 5.0, 6.0]
    np.testing.assert_array_equal(fast(X), X * 2 * [4, 5, 6] + [4, 5, 6])
    table.values = [[1.0]]
    np.testing.assert_array_equal(fast(X), X * 2 + 1)


def test_what_was_optimized_is_inlined_where_it_is_called(tmp_path: Path) -> None:
    w = np.ones(3, np.float32)
    inner = rw.optimize(lambda x: x * w, X, device="numpy")
    for outer in (jit(lambda x: inner(x) + 1), jit(inner)):
        more = 0 if outer.f is inner else 1
        w[:] = 1
        np.testing.assert_array_equal(outer(X), X + more)
        w[:] = 2
        np.testing.assert_array_equal(outer(X), X * 2 + more)
    assert rw.optimize(inner, X, device="numpy")(X).shape == X.shape
    inner.save(tmp_path / "f.rw")
    loaded = rw.load(tmp_path / "f.rw")
    with pytest.raises(TypeError, match="call it outside of what you optimize"):
        jit(lambda x: loaded(x) + 1)(X)
    with pytest.warns(
        RuntimeWarning, match="runs as written: a function that was loaded"
    ):
        np.testing.assert_array_equal(rw.jit(lambda x: loaded(x) + 1)(X), X * 2 + 1)
