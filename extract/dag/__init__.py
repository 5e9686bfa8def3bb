"""The cheapest choice of nodes of any e-graph."""
