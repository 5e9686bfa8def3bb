"""Loops: a graph that is run round after round, as one node of another."""
