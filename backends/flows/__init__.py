"""What runs loops and branches on a device: programs that a step of another runs."""
