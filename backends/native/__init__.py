"""Programs of the system's C compiler: made, looked at, loaded and unloaded."""
