"""Where draft tokens come from: one function per method in a dict, all with one small interface."""

from collections.abc import Callable

from engine.drafters.asynchronous import here_or_away
from engine.drafters.head import head_draft
from engine.drafters.interface import Draft, Drafter, DraftSetup
from engine.drafters.lookup import prompt_lookup
from engine.drafters.model_draft import draft_model, noisy_target
from engine.drafters.moe_subset import moe_subset
from engine.drafters.ngram import ngram_table
from engine.drafters.tree_draft import in_shape

DRAFTERS: dict[str, Callable[[DraftSetup], Drafter]] = {
    "head": in_shape(head_draft),
    "lookup": prompt_lookup,
    "model": here_or_away(in_shape(draft_model)),
    "moe_subset": moe_subset,
    "ngram": ngram_table,
    "noisy_target": here_or_away(in_shape(noisy_target)),
}

__all__ = ["DRAFTERS", "Draft", "DraftSetup", "Drafter"]
