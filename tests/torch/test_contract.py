"""What a drop-in promises: eager's results in eager's form, whatever goes wrong."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from .running import compiled, fallbacks, programs, same  # noqa: E402

X = torch.linspace(-2, 2, 24).reshape(4, 6)


def test_it_is_listed_under_its_name() -> None:
    """As it is installed: `torch.compile(model, backend="rewrite")`."""
    assert "rewrite" in torch.compiler.list_backends()
    torch.compiler.reset()
    f = torch.compile(lambda x: x * 2 + 1, backend="rewrite",
                      options={"strict": True, "cache": False})  # fmt: skip
    same(f(X), X * 2 + 1)


# ---- form ----------------------------------------------------------------------------


def test_results_have_the_sizes_strides_and_dtypes_of_eager() -> None:
    def f(x: Any) -> Any:
        y = x.permute(1, 0) * 2
        return y, y > 0, x.half() + 1, x.bfloat16() * 2, y.sum(), y.argmax(1), y[:, ::2]

    with programs() as made:
        same(compiled(f)(X), f(X))
    assert not fallbacks(made)


def test_channels_last_goes_in_and_comes_out_as_it_lies() -> None:
    layout = torch.channels_last
    x = torch.randn(2, 3, 6, 6).to(memory_format=layout)

    def f(x: Any) -> Any:
        return torch.relu(x) * 2

    got = compiled(f)(x)
    same(got, f(x))
    assert got.is_contiguous(memory_format=layout)


def test_inputs_may_lie_in_any_way() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return a + b + c

    wide = torch.randn(8, 12)
    args = wide[::2, ::2], wide[0, :6].expand(4, 6), wide[:6, :4].t()
    same(compiled(f)(*args), f(*args))


def test_nothing_is_copied_on_the_way_in_or_out() -> None:
    seen: list[int] = []
    with programs() as made:
        f = compiled(lambda x: x * 2)
        f(X)
        (step,) = made[0].first.graphs
        run = step.compiled

        def spy(inputs: Any) -> Any:
            results = run(inputs)
            seen.extend(a.ctypes.data for a in (*inputs.values(), *results.values()))
            return results

        step.compiled = spy
        y = f(X)
    assert seen == [X.data_ptr(), y.data_ptr()]


def test_an_input_that_is_returned_is_the_input() -> None:
    def f(x: Any, y: Any) -> Any:
        return x, y + 1, x.view(-1)

    x = torch.randn(3, 4)
    got = compiled(f)(x, X)
    assert got[0] is x
    assert got[2].data_ptr() == x.data_ptr()
    got[2][0] = 7
    assert x[0, 0] == 7


def test_views_of_one_result_share_their_memory() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        return y, y.t(), y[0]

    y, turned, row = compiled(f)(X)
    assert y.data_ptr() == turned.data_ptr() == row.data_ptr()


def test_what_is_saved_of_an_input_is_no_copy_of_it() -> None:
    """The backward graph reads the weight turned: a view of the parameter."""
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Linear(8, 2))
    with programs() as made:
        fast = compiled(model)
        fast(X).square().sum().backward()
    got = [p.grad for p in model.parameters()]
    model.zero_grad()
    model(X).square().sum().backward()
    same(got, [p.grad for p in model.parameters()])
    (step,) = made[0].first.graphs
    assert all(p.free for p in step.compiled.executable().ports.outputs)


def test_a_view_of_an_input_is_where_that_input_lies() -> None:
    """Another call may pass another part of a tensor: no guard looks at the offset."""
    f = compiled(lambda x, w: (x @ w.t()).square())
    rows = torch.arange(48.0).reshape(8, 6)
    for part in (rows[:4], rows[4:]):
        w, x = part.requires_grad_(), X.clone().requires_grad_()
        mine = torch.autograd.grad(f(x, w).sum(), (x, w))
        same(mine, torch.autograd.grad((x @ w.t()).square().sum(), (x, w)))


def test_rank_0_and_empty_tensors() -> None:
    def f(x: Any, n: Any) -> Any:
        return x * n, x.sum(0) + n, n * 3

    args = torch.zeros(0, 3), torch.tensor(2.0)
    same(compiled(f)(*args), f(*args))


# ---- what changes --------------------------------------------------------------------


def test_inputs_are_changed_in_place() -> None:
    def f(x: Any, y: Any) -> Any:
        x.add_(y)
        y[0] = 3
        return x * 2

    mine, theirs = (X.clone(), X.clone()), (X.clone(), X.clone())
    with programs() as made:
        same(compiled(f)(*mine), f(*theirs))
    same(mine, theirs)
    assert not fallbacks(made)


class Cache(torch.nn.Module):
    """Keys of what came before, as decoders keep them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(2, 64, 8))

    def forward(self, x: Any, at: Any) -> Any:
        self.keys.index_copy_(1, at, x)
        return (self.keys * x).sum(-1)


def test_a_cache_is_written_where_it_lies() -> None:
    mine, theirs = Cache(), Cache()
    fast, place = compiled(mine), mine.keys.data_ptr()
    with torch.no_grad(), programs() as made:
        for i in range(3):
            x, at = torch.randn(2, 1, 8), torch.tensor([i])
            same(fast(x, at), theirs(x, at))
    same(mine.keys, theirs.keys)
    assert mine.keys.data_ptr() == place
    assert not fallbacks(made)


def test_of_a_long_cache_only_the_new_rows_are_written() -> None:
    def f(cache: Any, x: Any, at: Any) -> Any:
        cache.index_copy_(1, at, x)
        return x * 2

    cache, x, at = torch.zeros(2, 4096, 8), torch.randn(2, 1, 8), torch.tensor([3])
    with torch.no_grad(), programs() as made:
        same(compiled(f)(cache, x, at), x * 2)
    same(cache[:, 3:4].clone(), x)
    assert cache.count_nonzero() == x.numel()
    kernels = made[0].first.graphs[0].compiled.kernels()
    assert [k.family for k in kernels if "index_put" in str(k.writes)] == ["scatter"]


def test_what_runs_in_eager_reads_an_input_before_it_is_written() -> None:
    def f(x: Any) -> Any:
        before = torch.cummax(x, dim=1).values  # in eager PyTorch
        x.mul_(2)
        return before + x

    mine, theirs = X.clone(), X.clone()
    with programs() as made:
        same(compiled(f)(mine), f(theirs))
    same(mine, theirs)
    assert fallbacks(made) == ["aten.cummax.default"]


def test_numbers_are_drawn_as_eager_draws_them() -> None:
    def f(x: Any) -> Any:
        a = torch.rand_like(x)
        b = torch.nn.functional.dropout(x * 2, 0.3)
        return a + b, torch.randn(3)

    fast = compiled(f)
    fast(X)
    torch.manual_seed(5)
    mine = fast(X)
    torch.manual_seed(5)
    same(mine, f(X))


# ---- what has no reader --------------------------------------------------------------


@torch.library.custom_op("rewrite_tests::turned", mutates_args=())
def turned(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


@turned.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("rewrite_tests::doubled", mutates_args={"x"})
def doubled(x: torch.Tensor) -> None:
    x.mul_(2)


def test_operators_of_others_run_as_they_are() -> None:
    def f(x: Any) -> Any:
        y = turned(x * 2) * 3
        doubled(y)
        return y + 1

    with programs() as made:
        same(compiled(f)(X), f(X))
    assert "rewrite_tests.turned.default" in fallbacks(made)


def test_a_fallback_says_why_and_where() -> None:
    def f(x: Any) -> Any:
        return torch.kthvalue(x * 2, 2).values + 1

    with programs() as made:
        same(compiled(f)(X), f(X))
    (missed,) = made[0].first.fallbacks
    assert (missed.operator, missed.reason) == (
        "aten.kthvalue.default", "it has no reader",
    )  # fmt: skip
    assert "test_contract.py" in missed.line
    assert "torch.kthvalue(x * 2, 2)" in missed.line
    assert len(made[0].first.graphs) == 2


def test_what_is_not_on_the_cpu_is_left_to_pytorch() -> None:
    def f(x: Any) -> Any:
        return x + 1, torch.ones(3, device="meta") * 2

    with programs() as made:
        near, far = compiled(f)(X)
    same(near, X + 1)
    assert far.device.type == "meta" and far.shape == (3,)
    reasons = {m.reason for m in made[0].first.fallbacks}
    assert reasons == {"a tensor on meta"}


def test_branches_and_masks_that_data_decide() -> None:
    def f(x: Any) -> Any:
        y = torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
        return y[y > 0] * 2

    same(compiled(f)(X), f(X))


# ---- what goes wrong -----------------------------------------------------------------


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a fault of the optimizer")


def test_after_an_error_the_graph_runs_as_it_was_with_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rewrite.torch.compiling.optimize_graph", broken)
    f = compiled(lambda x: torch.softmax(x, 1) * 2, strict=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        same(f(X), torch.softmax(X, 1) * 2)
        f(X)
    ours = [str(w.message) for w in said if "rewrite:" in str(w.message)]
    assert len(ours) == 1 and "a fault of the optimizer" in ours[0]


def test_one_warning_is_for_the_backward_graph_as_well(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rewrite.torch.compiling.optimize_graph", broken)
    w = torch.ones(6, requires_grad=True)
    f = compiled(lambda x: torch.tanh(x * w), strict=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        f(X).sum().backward()
    same(w.grad, (1 - torch.tanh(X) ** 2).mul(X).sum(0))
    assert len([m for m in said if "rewrite:" in str(m.message)]) == 1


def test_the_same_where_reading_fails_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rewrite.torch.program.partition", broken)
    f = compiled(lambda x: x * 2, strict=False)
    with pytest.warns(RuntimeWarning, match="a fault of the optimizer"):
        same(f(X), X * 2)


def test_the_same_where_a_graph_fails_while_it_runs() -> None:
    with programs() as made:
        f = compiled(lambda x: x * 2, strict=False)
        f(X)
        made[0].first.graphs[0].compiled = broken
        with pytest.warns(RuntimeWarning, match="a fault of the optimizer"):
            same(f(X), X * 2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            same(f(X), X * 2)


def test_strict_shows_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewrite.torch.compiling.optimize_graph", broken)
    with pytest.raises(Exception, match="a fault of the optimizer"):
        compiled(lambda x: x * 2)(X)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"options": {"prescision": "fast"}}, "no prescision; known: .*precision"),
        (
            {"options": {"precision": "sloppy"}},
            "'strict', 'default', 'fast' or 'unstable'",
        ),
        ({"mode": "quick"}, "'max-autotune'"),
    ],
)
def test_an_option_that_there_is_not_is_an_error(asked: Any, said: str) -> None:
    from rewrite.torch.options import Settings

    with pytest.raises(ValueError, match=said):
        Settings.of(**asked)


def test_modes_are_effort() -> None:
    from rewrite.torch.options import Settings

    assert Settings.of().options.effort == 2
    assert Settings.of("max-autotune").options.effort == 3
    assert Settings.of("default", {"effort": 1}).options.effort == 1


@pytest.mark.plans
def test_what_was_compiled_once_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path))
    found: list[bool] = []
    for _ in range(2):
        with programs() as made:
            compiled(lambda x: torch.softmax(x, 1) * 2, cache=True)(X)
        found.append(made[0].first.graphs[0].compiled.was_kept)
    assert found == [False, True]


# ---- callers -------------------------------------------------------------------------


def test_threads_may_call_one_program() -> None:
    def f(x: Any, w: Any) -> Any:
        return torch.relu(x @ w) + 1

    fast, w = compiled(f), torch.randn(16, 16)
    inputs = [torch.randn(8, 16) for _ in range(4)]
    fast(inputs[0], w)
    results: dict[int, list[Any]] = {i: [] for i in range(4)}

    def run(i: int) -> None:
        for _ in range(20):
            results[i].append(fast(inputs[i], w))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, found in results.items():
        assert len(found) == 20
        for y in found:
            same(y, f(inputs[i], w))


def test_results_of_earlier_calls_stay_what_they_are() -> None:
    fast = compiled(lambda x: x * 2)
    first = fast(X)
    fast(X + 1)
    same(first, X * 2)
