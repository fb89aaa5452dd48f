"""Errors that a user can cause; each names the place, the value and the way out.

EngineError
├── ModelFileError   a model's files are missing, truncated, or of a kind that the engine does not run
├── RequestError     a request that this engine can never serve
└── DraftError       a draft that does not fit its target, or options that no drafter takes
"""


class EngineError(Exception):
    """Base of what the engine raises on purpose."""


class ModelFileError(EngineError):
    """A model's files are missing, truncated, or of a kind that the engine does not run."""


class RequestError(EngineError):
    """A request, or a trace of requests, that this engine can never serve."""


class DraftError(EngineError):
    """A draft that does not fit its target, or options that no drafter takes."""
