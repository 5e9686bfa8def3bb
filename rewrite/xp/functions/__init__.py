"""What array code calls, by its names in the array API."""
