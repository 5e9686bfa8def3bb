"""Search over how kernels are lowered: tried in other processes, by the clock."""
