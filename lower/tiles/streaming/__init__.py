"""Sums of products one side of which is large and read once, where few rows meet it."""
