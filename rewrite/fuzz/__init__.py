"""Random graphs and variants of known workloads, with inputs and a judge of results."""

from .graphs import random_graph
from .oracle import compare, random_inputs
from .variants import KINDS, variants

__all__ = ["KINDS", "compare", "random_graph", "random_inputs", "variants"]
