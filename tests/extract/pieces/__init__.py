"""Pieces of graphs, optimized apart."""
