"""The graph and its ops: the one table from which all meaning is taken."""
