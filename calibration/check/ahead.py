"""Steps of the engine with a drafter in a process of its own: what they wait for drafts, on the mean.

The planner's own draft GPUs verify sequences without drafts beside the others; this engine waits for all of them.
"""

from dataclasses import replace

from simulator.physics.draft import NO_DRAFT, Affine
from simulator.physics.step_model import CatalogStepModel


def drafting_ahead(model: CatalogStepModel, hit: float) -> CatalogStepModel:
    """The same steps where each sequence's draft has been begun before with this chance.

    Where one of them was not, the step waits for K passes of the draft, as it was measured: no draft token was ever
    accepted there. Where all were, it waits for as much of K + 1 passes as the target's own pass did not hide.

    hit: chance that the guess of what a step commits was right, sequences independent of each other. [0 to 1]
    """
    target = CatalogStepModel(model.target, NO_DRAFT, model.draft_tokens)

    def passes(sequences: int, draft_tokens: int) -> Affine:
        constant, slope = model.draft.passes(sequences, draft_tokens)
        if not draft_tokens:
            return constant, slope
        pass_s, pass_slope = target.decode_affine(sequences, draft_tokens)
        more = (draft_tokens + 1) / draft_tokens
        all_hit = hit**sequences
        left = max(more * constant - pass_s, 0.0), max(more * slope - pass_slope, 0.0)
        return (1.0 - all_hit) * constant + all_hit * left[0], (1.0 - all_hit) * slope + all_hit * left[1]

    return CatalogStepModel(model.target, replace(model.draft, passes=passes), model.draft_tokens)
