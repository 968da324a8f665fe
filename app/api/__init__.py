"""The JSON API, version 1: thin routes over the services."""
