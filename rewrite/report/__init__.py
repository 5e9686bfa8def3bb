"""Reports: why a result is as it is, as text, data and offline pages."""
