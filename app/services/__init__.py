"""Use cases: a snapshot and a request become a result. The one entry for web, API and command line."""
