"""Rule files: read, checked, and held as data."""
