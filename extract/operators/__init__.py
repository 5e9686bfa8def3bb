"""A program as operators of a library, chosen from an e-graph by their price."""
