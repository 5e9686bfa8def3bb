"""Random graphs, with inputs and a judge of results."""

from .graphs import random_graph
from .oracle import compare, random_inputs

__all__ = ["compare", "random_graph", "random_inputs"]
