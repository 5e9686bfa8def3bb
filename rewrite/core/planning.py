"""Planning: a graph in, its cheapest equal schedule out, with its fallbacks.

`planned` does not fail because of the optimizer: where a stage gives up, the one before
it stands (the input's own schedule; the reference evaluator) and one warning says why.
With `fallback=False` the error is raised instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter

from rewrite.backends.devices import pick_device
from rewrite.backends.native.pool import thread_count
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Graph, witness
from rewrite.egraph.looping.flow import flows_of
from rewrite.egraph.saturate.engine import shared
from rewrite.extract.memory.remat import MemoryLimitError
from rewrite.extract.paused import collector_paused
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.plan import Plan, Whole, plan_all
from rewrite.extract.schedule.space import own_space
from rewrite.lower.device import Device
from rewrite.lower.model import model_of

from ..cache.identity import plan_key
from ..cache.kept import choices_for
from ..cache.learned import MeasuredCost
from ..cache.shelf import Shelf, plans
from .compiled import Compiled
from .costs import CostError, cost_for, is_kept, name_of
from .fitting import device_reuse, fitted
from .levels import levels
from .notices import log, warn
from .options import MOVES, Options, check_options

LEARN = "`rewrite bench MODEL --predict --learn`"


@collector_paused()
def planned(
    graph: Graph, device: str | Device | None = None, options: Options | None = None
) -> Compiled:
    """The cheapest equal schedule that the rules and the search find for `graph`, its
    kernels lowered as `rewrite tune` has found; and those of the bodies of its loops
    and branches."""
    options = options or Options()
    check_options(options)
    every = [Whole(graph, options.constant_inputs), *_bodies(graph)]
    made = iter(_planned_all(every, pick_device(device), options))

    def joined(graph: Graph) -> Compiled:
        compiled = next(made)
        bodies = {t: tuple(map(joined, flow.bodies)) for t, flow in flows_of(graph)}
        return replace(compiled, bodies=bodies) if bodies else compiled

    return joined(graph)


def _bodies(graph: Graph) -> Iterator[Whole]:
    """Those of its loops and branches, each followed by its own."""
    for _, flow in flows_of(graph):
        for k, body in enumerate(flow.bodies):
            yield Whole(body, flow.invariant(k))
            yield from _bodies(body)


def _planned_all(
    wholes: Sequence[Whole], target: Device, options: Options
) -> list[Compiled]:
    """Each by itself, bodies apart: as it was kept, or planned beside the others."""
    started = perf_counter()
    price = cost_for(target, options.precision, options.cost)
    if isinstance(price, MeasuredCost) and not price.seconds:
        warn(f"no kernel was measured on {target.name}; {LEARN} does that")
    choices = choices_for(target, options.precision == "strict")
    asked = [replace(options, constant_inputs=w.constant_inputs) for w in wholes]
    shelves = [_shelf(w.graph, target, o) for w, o in zip(wholes, asked, strict=True)]
    kept = [s and s.plan(w.graph) for s, w in zip(shelves, wholes, strict=True)]
    fresh = [w for w, k in zip(wholes, kept, strict=True) if k is None]
    planned_now = iter(_planned(fresh, target, options, price))
    made: list[Compiled] = []
    for (graph, _), own, shelf, found in zip(wholes, asked, shelves, kept, strict=True):
        verb = "found the plan of" if found else "optimized"
        if found is None:
            chosen, complete = next(planned_now)
            found, within = _fitted(graph, chosen, target, own, price)
            shelf = shelf if complete and within else None
            if shelf:
                shelf.keep_plan(found)
        seconds = perf_counter() - started
        log.info("%s %d nodes in %.3f s", verb, len(graph), seconds)
        made.append(Compiled(graph, found, target, own, seconds, shelf, choices))
    return made


def _planned(
    wholes: Sequence[Whole], target: Device, options: Options, price: KernelCost
) -> list[tuple[Plan, bool]]:
    """The plan of each, and whether it is all that these options find."""
    if not wholes:
        return []
    shared().begin()  # it starts while the rules are read
    sets, moves = levels(target, options, price), MOVES[options.effort]
    jobs = thread_count() if is_kept(options.cost) else 1
    try:
        found = plan_all(wholes, sets, moves, options.hints, jobs)
    except CostError:
        raise  # there is no schedule without prices
    except Exception as e:
        # A drop-in never fails by its optimizer: its own terms are fused without rules.
        if not options.fallback:
            raise
        if len(wholes) > 1:  # perhaps of one alone
            return [p for w in wholes for p in _planned([w], target, options, price)]
        warn(f"the rules could not be applied ({e}); scheduling the graph as it is")
        return [(own_plan(wholes[0].graph, price, hints=options.hints), False)]
    # What was ended by the clock may be found the next time.
    return [(made, not made.truncated) for made in found]


def _fitted(
    graph: Graph, chosen: Plan, device: Device, options: Options, price: KernelCost
) -> tuple[Plan, bool]:
    """The plan within the limit of memory, and whether that was reached."""
    reuse = device_reuse(device, options.precision == "strict")
    try:
        return fitted(graph, chosen, options.memory, options.hints, price, reuse), True
    except MemoryLimitError as e:
        if not options.fallback:
            raise
        warn(f"{e}; going on with the plan that takes least")
        return e.plan, False
    except Exception as e:
        # A drop-in never fails by its optimizer: any order of kernels is right.
        if not options.fallback:
            raise
        warn(f"kernels run in the order in which they were found ({e})")
        return chosen, False


def _shelf(graph: Graph, device: Device, options: Options) -> Shelf | None:
    """Where the work for a graph is kept, if it is."""
    if not options.cache or not is_kept(options.cost):
        return None
    store = plans()
    if store.folder is None or not all(f.is_file() for f in options.rules):
        return None  # what is wrong with a file is said by those who load it
    key = plan_key(
        graph, options.rules, options.precision, model_of(device.caps()),
        name_of(options.cost), MOVES[options.effort], options.hints, options.memory,
        options.constant_inputs,
    )  # fmt: skip
    return Shelf(store, key, options.precision == "strict")


def own_plan(
    graph: Graph,
    price: KernelCost,
    moves: int = 40,
    hints: Mapping[str, int] | None = None,
) -> Plan:
    """A plan without rules: the graph's own terms, fused by the search alone."""
    graph = expand_macros(graph)
    values = witness(graph, hints)
    choice = choose(own_space(graph, values), price, moves)
    return Plan(
        graph, choice.groups, choice.seconds, choice.own_seconds, choice.own_kernels
    )


def without_rules(
    c: Compiled, price: KernelCost, sizes: Mapping[str, int] | None = None
) -> Compiled:
    """The same graph, and its loops, fused as they are written."""
    own = own_plan(c.source, price, MOVES[c.options.effort], sizes)
    chosen = replace(own, constant_inputs=c.plan.constant_inputs)
    bodies = {
        k: tuple(without_rules(b, price, sizes) for b in made)
        for k, made in c.bodies.items()
    }
    return Compiled(c.source, chosen, c.device, c.options, bodies=bodies)
