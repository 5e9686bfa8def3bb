"""From equal forms to the cheapest schedule of kernels."""
