"""From a graph and rules to every equal form they lead to."""
