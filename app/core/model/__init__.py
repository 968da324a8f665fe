"""Model architectures: their dimensions, their parameters, and how a config.json is read."""
