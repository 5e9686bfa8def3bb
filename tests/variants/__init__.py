"""Workloads that must fuse, as generated variants of their naive forms."""
