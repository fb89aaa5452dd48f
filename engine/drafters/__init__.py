"""Where draft tokens come from: one function per method in a dict, all with one small interface."""

from collections.abc import Callable

from engine.drafters.interface import Draft, Drafter, DraftSetup
from engine.drafters.lookup import prompt_lookup
from engine.drafters.model_draft import draft_model, noisy_target

DRAFTERS: dict[str, Callable[[DraftSetup], Drafter]] = {
    "lookup": prompt_lookup,
    "model": draft_model,
    "noisy_target": noisy_target,
}

__all__ = ["DRAFTERS", "Draft", "DraftSetup", "Drafter"]
