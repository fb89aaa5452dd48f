"""Files of other tools: what they say of acceptance, and what `specfleet validate` takes of their measurements.

Nothing here imports torch or the engine: the dashboard reads files with it.
"""
