"""A draft's window over its KV, sinks and recent tokens: where it counts, and what it takes off a draft's time."""

from collections.abc import Callable
from dataclasses import replace

from simulator.catalog.load import load_model
from simulator.physics.draft import Affine, DraftCost
from simulator.spec.deployment import Deployment


def without_idle_windows(deployment: Deployment, longest_tokens: float = float("inf")) -> Deployment:
    """The deployment without the windows that no sequence outgrows; any other is returned as it is.

    longest_tokens: longest sequence of the workload, where that is known; the engine's own bound holds beside it.
    """
    speculation = deployment.speculation
    if not any(draft.window for draft in speculation.drafts.values()):
        return deployment
    most = load_model(deployment.target.model).max_position
    longest = min(deployment.engine.max_model_len or most, most, longest_tokens)
    drafts = {
        name: draft.model_copy(update={"window": None}) if draft.window and draft.window.tokens >= longest else draft
        for name, draft in speculation.drafts.items()
    }
    return deployment.model_copy(update={"speculation": speculation.model_copy(update={"drafts": drafts})})


def windowed(cost: DraftCost, window_tokens: int) -> DraftCost:
    r"""A draft that reads so many tokens of each sequence, however long it is.

    .. math:: T = a + b\, B\, w \quad \text{in place of} \quad a + b \sum s

    In passes every window counts as full, which is too much for sequences that are shorter; a prompt's token attends to
    no more than the window and its own chunk.

    window_tokens: w, sinks and recent tokens together. [tokens]

    Xiao et al., StreamingLLM, arXiv:2309.17453; as a draft's cache: Sadhukhan et al., MagicDec, arXiv:2408.11049.
    """

    def full(seconds: Affine, sequences: int) -> Affine:
        return seconds[0] + seconds[1] * sequences * window_tokens, 0.0

    return replace(
        cost,
        passes=lambda sequences, draft_tokens: full(cost.passes(sequences, draft_tokens), sequences),
        one_pass=lambda sequences: full(cost.one_pass(sequences), sequences),
        prefill_s=_chunk(cost, window_tokens),
        prefill_context_s=0.0,
    )


def _chunk(cost: DraftCost, window_tokens: int) -> Callable[[int], float]:
    """Prompt tokens → seconds of their prefill, the positions that they attend to included."""
    return lambda tokens: cost.prefill_s(tokens) + cost.prefill_context_s * tokens * min(tokens, window_tokens)
