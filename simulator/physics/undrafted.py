"""Steps without what they wait for drafts on GPUs of their own, or with a part of it: a simulation finds the rest."""

from dataclasses import replace

from simulator.physics.draft import NO_DRAFT
from simulator.physics.drafted import DeploymentSteps, DraftedStepModel
from simulator.physics.step_model import CatalogStepModel


def without_drafting(model: DeploymentSteps) -> DeploymentSteps:
    """The same steps without any drafting, where a pool says how long that takes."""
    if isinstance(model, DraftedStepModel):
        return DraftedStepModel(_without(model.model), model.shares)
    return _without(model)


def _without(model: CatalogStepModel) -> CatalogStepModel:
    draft = replace(NO_DRAFT, step_s=model.draft.step_s, prompt_s=model.draft.prompt_s)
    return CatalogStepModel(model.target, draft, model.draft_tokens)


def with_hits(model: DeploymentSteps) -> CatalogStepModel:
    """The same steps where some sequence has drafts that were made ahead; all have the rows of K draft tokens."""
    whole = model.model if isinstance(model, DraftedStepModel) else model
    assert whole.draft.pool is not None
    assert whole.draft.pool.ahead is not None
    return CatalogStepModel(
        whole.target, replace(whole.draft, passes=whole.draft.pool.ahead.behind), whole.draft_tokens
    )
