"""Models from where people have them: a name on the command line, to weights and a tokenizer."""

from engine.loading.named import Loaded, load

__all__ = ["Loaded", "load"]
