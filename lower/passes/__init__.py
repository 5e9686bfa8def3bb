"""Passes: each takes a function of the loop IR and gives one that does the same.

Bit for bit; any order of them keeps a function right and its rules kept (`verify`).
"""
