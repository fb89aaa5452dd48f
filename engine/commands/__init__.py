"""The engine for a person: `python -m engine generate | serve-trace | bench`."""
