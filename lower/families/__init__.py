"""Schedule families that write loops: legality, price and code."""
