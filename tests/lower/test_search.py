"""Choices: as text, as the search finds them, and what they lower to."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewrite.extract.schedule.kernel import Cost, Kernel
from rewrite.lower.axes import normalise
from rewrite.lower.choice import Choice, digest, parse_choice
from rewrite.lower.device import Caps
from rewrite.lower.interpret import run as interpret
from rewrite.lower.lower import choose, decide, fits, lower
from rewrite.lower.model import Family, model_of
from rewrite.lower.registry import FAMILIES
from rewrite.lower.search import HOPELESS, Candidate, Space, cut
from rewrite.lower.verify import verify

from .cases import CASES, LARGE
from .folds import FOLDS
from .harness import (
    CPU,
    GPU,
    NARROW,
    buffers_for,
    c_device,
    close,
    on_c,
    reference,
)

KERNELS = {name: make() for name, make in {**CASES, **FOLDS}.items()}
SOFTMAX, MATMUL = KERNELS["softmax_f32"], KERNELS["matmul_f32"]
BY_NAME = {f.name: f for f in FAMILIES}
NAMES = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)


def drawn(kernel: Kernel, caps: Caps, seed: int, most: int) -> Iterator[Choice]:
    """Choices of every family with holes set at random, as far as they fit."""
    rng, kernel, model = random.Random(seed), normalise(kernel), model_of(caps)
    for family in FAMILIES:
        if family.accepts(kernel) is not None:
            continue
        domains = family.domains(kernel, model)
        found = 0
        for _ in range(8 * most):
            names = rng.sample(sorted(domains), rng.randint(0, len(domains)))
            holes = tuple(sorted((n, rng.choice(domains[n])) for n in names))
            if holes and fits(family, kernel, model, holes) and found < most:
                found += 1
                yield Choice(family.name, holes)


# ---- text ----


@given(NAMES, st.dictionaries(NAMES, st.integers(0, 10**9 - 1), max_size=4))
def test_a_choice_is_read_as_it_is_printed(family: str, holes: dict[str, int]) -> None:
    choice = Choice(family, tuple(sorted(holes.items())))
    assert parse_choice(str(choice)) == choice


@pytest.mark.parametrize(
    "text",
    ["", "row ", "row keep", "row keep=-1", "row b=1 a=1", "row a=01", "row a=1 a=1"],
)
def test_other_text_is_no_choice(text: str) -> None:
    assert parse_choice(text) is None


def test_a_digest_is_that_of_what_is_compiled() -> None:
    k = SOFTMAX
    assert digest(k) == digest(normalise(k)) != digest(MATMUL)


# ---- what choices lower to ----


@pytest.mark.sweep(3)
@pytest.mark.parametrize("caps", [CPU, NARROW, GPU], ids=["cpu", "narrow", "gpu"])
def test_whatever_fits_lowers_to_loops_that_keep_the_rules(caps: Caps) -> None:
    met = set[tuple[str, str]]()
    for seed, kernel in enumerate(KERNELS.values()):
        for c in drawn(kernel, caps, seed, 3):
            family = BY_NAME[c.family]
            verify(family.lower(normalise(kernel), caps, "k", False, c.holes))
            met |= {(c.family, name) for name, _ in c.holes}
    multiplies = {"contract", "transpose"}
    if not caps.cpu_like:
        multiplies = {"tilecontract", "tileturn"}
    assert {f for f, _ in met} >= {*multiplies, "row", "full"}
    if caps is CPU:
        assert {n for f, n in met if f == "contract"} >= {
            "columns", "depth", "height", "packed", "rows", "turned", "vectors"
        }  # fmt: skip


def test_choices_compute_what_the_kernel_means_compiled() -> None:
    if not c_device().probe().ok:
        pytest.skip(c_device().probe().detail)
    caps = c_device().caps()
    chosen: list[tuple[Kernel, Choice]] = []
    for seed, k in enumerate([*KERNELS.values()][::2]):
        found = [*drawn(k, caps, seed, 1)]
        chosen += [(k, c) for c in found[seed % max(len(found), 1) :][:1]]
    assert {c.family for _, c in chosen} >= {"contract", "fold", "row", "column"}
    functions = [
        BY_NAME[c.family].lower(normalise(k), caps, f"f{i}", False, c.holes)
        for i, (k, c) in enumerate(chosen)
    ]
    buffers = [buffers_for(k) for k, _ in chosen]
    want = [reference(k, b) for (k, _), b in zip(chosen, buffers, strict=True)]
    on_c(functions, buffers)
    for (k, c), b, w in zip(chosen, buffers, want, strict=True):
        try:
            close(k, b[k.reads :], w)
        except AssertionError as e:
            raise AssertionError(f"{c}: {e}") from None


def test_choices_on_a_gpu_compute_what_the_kernel_means() -> None:
    for kernel in (SOFTMAX, MATMUL):
        for c in drawn(kernel, GPU, 1, 1):
            buffers = buffers_for(kernel)
            want = reference(kernel, buffers)
            made = BY_NAME[c.family].lower(normalise(kernel), GPU, "k", False, c.holes)
            interpret(made, buffers)
            close(kernel, buffers[kernel.reads :], want)


def test_nothing_named_is_what_is_lowered_without_a_search() -> None:
    for kernel in KERNELS.values():
        family, _ = choose(normalise(kernel), model_of(CPU))
        choices = {digest(kernel): Choice(family.name)}
        assert lower(kernel, CPU, "k") == lower(kernel, CPU, "k", choices=choices)


def test_a_choice_decides_and_one_that_cannot_be_does_not() -> None:
    kernel, model = SOFTMAX, model_of(CPU)

    def decided(choice: Choice) -> tuple[str, object]:
        family, holes = decide(
            normalise(kernel), model, False, {digest(kernel): choice}
        )
        return family.name, holes

    own = choose(normalise(kernel), model)[0].name
    chosen = Choice("row", (("vectors", 1),))
    assert decided(chosen) == ("row", chosen.holes)
    for wrong in (
        Choice("map"), Choice("nobody"), Choice("row", (("vectors", 3),)),
        Choice("row", (("sails", 1),)),
    ):  # fmt: skip
        assert decided(wrong) == (own, ())


# ---- the search ----


def test_neighbours_differ_in_one_hole() -> None:
    space = Space(LARGE["normed (300, 1030)"](), model_of(CPU), FAMILIES)
    middle = Choice("contract", (("height", 6), ("vectors", 2)))
    for c in space.neighbours(middle):
        differ = set(c.holes) ^ set(middle.holes)
        assert len({name for name, _ in differ}) == 1
    heights = {dict(c.holes).get("height") for c in space.neighbours(middle)}
    assert heights == {None, 5, 6, 7}


def test_the_search_begins_with_the_families_and_goes_round_the_holes() -> None:
    model = model_of(CPU)
    for kernel in KERNELS.values():
        space = Space(kernel, model, FAMILIES)
        own = space.own()
        assert choose(space.kernel, model)[0].name in {c.family for c in own}
        near = space.around(own)
        assert len(near) == len(set(near))
        assert all(space.fits(c) and len(c.holes) == 1 for c in near)
        kinds = [(c.family, c.holes[0][0]) for c in near]
        assert len(set(kinds[: len(set(kinds))])) == len(set(kinds))


def test_the_cut_leaves_out_what_is_hopeless() -> None:
    def priced(name: str, seconds: float, *holes: tuple[str, int]) -> Candidate:
        return Candidate(Choice(name, holes), seconds)

    found = [
        priced("row", 1.0), priced("row", 1.5, ("a", 1)), priced("row", 1.6, ("a", 2)),
        priced("row", 1.7, ("b", 1)), priced("map", HOPELESS + 0.1),
    ]  # fmt: skip
    order = [0, 1, 3, 2]
    assert cut(found) == [found[i].choice for i in order]
    assert cut([]) == []


class Refusing:
    """A family that is never there."""

    name = "refusing"

    def accepts(self, kernel: Kernel) -> str | None:
        return "it never does"

    def cost(self, kernel: Kernel, model: object, holes: object = ()) -> Cost | None:
        raise AssertionError("it was asked though it does not accept")


def test_a_family_that_refuses_is_not_asked() -> None:
    families: list[Family] = [*FAMILIES, Refusing()]  # type: ignore[list-item]
    space = Space(SOFTMAX, model_of(CPU), families)
    assert "refusing" not in {c.family for c in space.own()}
