"""The pipeline: options, costs, compiled programs, bundles."""
