"""Planning: a graph in, its cheapest equal schedule out, with its fallbacks.

`planned` does not fail because of the optimizer: where a stage gives up, the one before
it stands (the input's own schedule; the reference evaluator) and one warning says why.
With `fallback=False` the error is raised instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

from rewrite.backends.devices import pick_device
from rewrite.backends.native.pool import thread_count
from rewrite.egraph.ir.evaluate import expand_macros
from rewrite.egraph.ir.graph import Graph, witness
from rewrite.egraph.looping.flow import flows_of
from rewrite.extract.memory.remat import MemoryLimitError
from rewrite.extract.schedule.climb import choose
from rewrite.extract.schedule.kernel import KernelCost
from rewrite.extract.schedule.plan import Plan, plan
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


def planned(
    graph: Graph, device: str | Device | None = None, options: Options | None = None
) -> Compiled:
    """The cheapest equal schedule that the rules and the search find for `graph`, its
    kernels lowered as `rewrite tune` has found; and those of the bodies of its loops
    and branches."""
    options = options or Options()
    made = _planned_alone(graph, device, options)
    bodies = {
        target: tuple(
            planned(body, device, replace(options, constant_inputs=flow.invariant(k)))
            for k, body in enumerate(flow.bodies)
        )
        for target, flow in flows_of(graph)
    }
    return replace(made, bodies=bodies) if bodies else made


def _planned_alone(
    graph: Graph, device: str | Device | None, options: Options
) -> Compiled:
    check_options(options)
    target = pick_device(device)
    started = perf_counter()
    price = cost_for(target, options.precision, options.cost)
    if isinstance(price, MeasuredCost) and not price.seconds:
        warn(f"no kernel was measured on {target.name}; {LEARN} does that")
    choices = choices_for(target, options.precision == "strict")
    shelf = _shelf(graph, target, options)
    kept = shelf.plan(graph) if shelf else None
    if kept is not None:
        seconds = perf_counter() - started
        log.info("found the plan of %d nodes in %.3f s", len(graph), seconds)
        return Compiled(graph, kept, target, options, seconds, shelf, choices)
    chosen, whole = _planned(graph, target, options, price)
    chosen, within = _fitted(graph, chosen, target, options, price)
    shelf = shelf if whole and within else None
    if shelf:
        shelf.keep_plan(chosen)
    seconds = perf_counter() - started
    log.info("optimized %d nodes in %.3f s", len(graph), seconds)
    return Compiled(graph, chosen, target, options, seconds, shelf, choices)


def _planned(
    graph: Graph, target: Device, options: Options, price: KernelCost
) -> tuple[Plan, bool]:
    """The plan, and whether it is all that these options find."""
    *before, last = levels(target, options, price)
    moves = MOVES[options.effort]
    try:
        result = plan(
            graph, last.saturate, last.cost, moves=moves, hints=options.hints,
            before=before, constant_inputs=options.constant_inputs,
            jobs=thread_count() if is_kept(options.cost) else 1,
        )  # fmt: skip
    except CostError:
        raise  # there is no schedule without prices
    except Exception as e:
        # A drop-in never fails by its optimizer: its own terms are fused without rules.
        if not options.fallback:
            raise
        warn(f"the rules could not be applied ({e}); scheduling the graph as it is")
        return own_plan(graph, price, hints=options.hints), False
    return result, not result.truncated  # by the clock: the next time more may be found


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
