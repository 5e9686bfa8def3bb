"""What the emitters print, where a run cannot show it."""

import pytest

from rewrite.backends.nvidia import nvrtc
from rewrite.egraph.ir.dtypes import F32, I32, U8
from rewrite.lower.device import DeviceError
from rewrite.lower.emit import host, wgsl
from rewrite.lower.emit.stages import index_lets, stages
from rewrite.lower.loops import (
    Array,
    Fetch,
    For,
    Function,
    Let,
    Lit,
    Load,
    Op,
    Param,
    Store,
    Var,
)

I = Var("i", I32)  # noqa: E741
X, Y = Param("x", F32, 64, False), Param("y", F32, 64, True)
AT = Load("x", I, F32)


def grid(*body, step: int = 1, name: str = "f", params=(X, Y), **more):
    return Function(name, params, (For(I, 64, "grid", body, step),), **more)


def store(value):
    return Store("y", I, value)


def un(op: str):
    return Op(op, (AT,), F32)


def test_only_the_helpers_in_use_are_printed():
    text = host.source([grid(store(un("tanh")))])
    assert "rw_tanh_f32" in text and "rw_copysign_f32" in text
    assert "rw_erf_f32" not in text and "rw_decode" not in text
    assert text.index("rw_copysign_f32(f32 a, f32 b) {") < text.index(
        "rw_tanh_f32(f32 a) {"
    )


@pytest.mark.parametrize("emit", [host.source, nvrtc.emit, wgsl.source])
def test_a_composite_opcode_is_refused(emit):
    with pytest.raises(DeviceError, match="'gelu' is composite; expand it"):
        emit([grid(store(un("gelu")))])


@pytest.mark.parametrize("emit", [host.source, nvrtc.emit, wgsl.source])
def test_names_cannot_carry_code(emit):
    bad = Param("x; evil()", F32, 4, True)
    with pytest.raises(DeviceError, match="is not a name"):
        emit([Function("f", (bad,), (Store(bad.name, Lit(0, I32), Lit(1.0, F32)),))])
    with pytest.raises(DeviceError, match="is not a name"):
        emit([grid(store(AT), name="f() { evil(); } void g")])


@pytest.mark.parametrize("emit", [host.source, nvrtc.emit, wgsl.source])
def test_two_functions_of_one_name_are_refused(emit):
    with pytest.raises(DeviceError, match="called 'f'"):
        emit([grid(store(AT)), grid(store(AT))])


def test_keywords_are_renamed():
    let = Let(Var("float", F32), AT)
    text = host.source([grid(let, store(let.var))])
    assert "const f32 float_ = x[i];" in text


def test_data_wraps_and_indices_do_not():
    k, d = Var("k", I32), Var("d", I32)
    twice = Op("mul", (I, Lit(2, I32)), I32)
    body = (
        Let(k, twice),
        Let(d, twice),
        Store("y", Lit(0, I32), Op("cast", (d,), F32)),
        Store("y", k, AT),
    )
    assert index_lets(body) == {"k"}
    text = host.source([grid(*body)])
    assert "const i64 k = i * 2;" in text
    assert "const i32 d = (i32)((u32)(i32)i * (u32)2);" in text


def test_where_a_fetch_looks_is_an_index():
    """Sums that wait for memory take 4 % longer with the wrapping beside them."""
    k = Var("k", I32)
    body = (
        Let(k, Op("add", (I, Lit(512, I32)), I32)),
        Fetch("x", k),
        Store("y", I, AT),
    )
    assert index_lets(body) == {"k"}
    assert "const i64 k = i + 512;" in host.source([grid(*body)])


def test_cuda_uses_vectors_only_where_they_are_aligned():
    def load(offset: int) -> str:
        index = Op("add", (I, Lit(offset, I32)), I32)
        value = Load("x", index, F32, 4)
        return nvrtc.emit([grid(Store("y", I, value, 4), step=4)]).text

    assert "*(f32x4 *)(y + i) = *(const f32x4 *)(x + (i + 8));" in load(8)
    assert "rw_gather_f32_x4(x + (i + 2))" in load(2)


def test_small_work_stays_on_one_thread():
    assert "_span, rw_b" not in host.source([grid(store(AT))])
    n = 1 << 20
    params = (Param("x", F32, n, False), Param("y", F32, n, True))
    big = Function("f", params, (For(I, n, "grid", (store(AT),)),))
    text = host.source([big])
    assert "#pragma omp simd" in text
    assert "rw_pool(f_0_span, rw_b, 1048576, " in text


def test_each_top_level_nest_is_a_launch():
    f = Function(
        "f", (X, Y), (
            For(I, 64, "grid", (store(AT),)),
            Store("y", Lit(0, I32), Lit(0.0, F32)),
            For(I, 64, "grid", (store(AT),)),
        ),
    )  # fmt: skip
    assert [s.kind for s in stages(f)] == ["grid", "single", "grid"]
    launches = nvrtc.emit([f]).launches["f"]
    assert [(x.groups, x.threads) for x in launches] == [(1, 256), (1, 1), (1, 256)]


def test_a_local_across_launches_is_refused():
    f = grid(store(AT))
    body = (Array("t", F32, 4), *f.body)
    with pytest.raises(DeviceError, match="make it a scratch buffer"):
        stages(Function("f", (X, Y), body))


def test_a_let_of_what_changes_later_is_refused():
    f = grid(store(AT))
    early = Let(Var("old", F32), Load("y", Lit(0, I32), F32))
    with pytest.raises(DeviceError, match="'old' reads 'y', which later"):
        stages(Function("f", (X, Y), (early, *f.body)))


def test_wgsl_spreads_many_groups_over_two_dimensions():
    assert wgsl.dispatch_size(10) == (10, 1)
    x, y = wgsl.dispatch_size(200_000)
    assert x <= 65535 and x * y >= 200_000


def test_wgsl_stores_neighbouring_bytes_by_atomics():
    f = grid(Store("z", I, Lit(1, U8)), params=(Param("z", U8, 64, True),))
    assert "atomicOr(&f_z_[u32(i) / 4u], v << s);" in wgsl.source([f]).text
