"""Where the numbers of drafts come from: catalog files, and what the scenario states on its own authority."""

from collections.abc import Collection, Iterator

from simulator.catalog.load import load_acceptance, load_model, load_quantisation, model_title
from simulator.spec.acceptance import Acceptance
from simulator.spec.classes import classes_served
from simulator.spec.deployment import Deployment
from simulator.spec.draft import Draft
from simulator.spec.sources import Sources
from simulator.spec.speculation import DraftSpeculation

Used = tuple[str, Sources]
"""A catalog file as folder/name, and its sources."""


def weights_used(weights: str) -> Iterator[Used]:
    """The file of a weight format; none for bf16."""
    if weights != "bf16":
        yield f"quantisation/{weights}", load_quantisation(weights).sources


def drafts_used(deployment: Deployment) -> Iterator[Used]:
    """Catalog files that drafts read: their models, formats and presets of acceptance."""
    for draft in deployment.speculation.drafts.values():
        if draft.model is not None:
            yield f"models/{model_title(draft.model)}", load_model(draft.model).sources
        yield from weights_used(draft.weights)
        for acceptance in draft.acceptance.values():
            if acceptance.preset is not None:
                yield f"acceptance/{acceptance.preset}", load_acceptance(acceptance.preset).sources


def drafts_stated(deployment: Deployment, classes: Collection[str]) -> Iterator[str]:
    """What is known of drafts by the scenario alone; acceptance beyond what was measured is told elsewhere."""
    speculation = deployment.speculation
    if speculation.kind == "none":
        return
    several = len(speculation.drafts) > 1
    for name, draft in speculation.drafts.items():
        of = f" of draft {name}" if several else ""
        asked = _asked(draft, classes_served(name, speculation, classes))
        yield from _acceptance_stated(of, asked)
        yield from _costs_stated(name, draft)
    yield from _combination_stated(speculation)
    if speculation.propose.shape == "best_tree":
        batch = speculation.propose.at_sequences
        yield (
            f"the best tree is the one for {batch} sequence{'s' * (batch > 1)} at a time (propose.at_sequences), "
            "whatever batch is served"
        )


def _asked(draft: Draft, classes: Collection[str]) -> dict[str, Acceptance]:
    return {name: draft.acceptance_of(name) for name in classes}


def _acceptance_stated(of: str, asked: dict[str, Acceptance]) -> Iterator[str]:
    if own := [name for name, acceptance in asked.items() if acceptance.preset is None]:
        yield f"acceptance{of} of {_classes(own)} as the scenario states it"
    for name, acceptance in asked.items():
        if acceptance.preset is not None:
            title = load_acceptance(acceptance.preset).title
            yield f"acceptance{of} of class {name} taken over from {title} (preset {acceptance.preset})"
        if acceptance.uplift is not None:
            uplift = acceptance.uplift
            yield f"acceptance{of} of class {name} × {uplift.factor:g} by training the draft: {uplift.source}"


def _costs_stated(name: str, draft: Draft) -> Iterator[str]:
    if draft.abstract is not None:
        yield f"cost of draft {name} as the scenario states it: {draft.abstract.latency_ratio:g} target steps a pass"
    if draft.window is not None:
        kept = f"draft {name} keeps {draft.window.tokens:,} tokens of a sequence"
        yield f"{kept}: what it loses by that must be in its acceptance (by_context)"
    if draft.moe_subset is not None and draft.moe_subset.routing_mismatch:
        yield f"routing mismatch {draft.moe_subset.routing_mismatch:g} of draft {name} as the scenario states it"


def placement_stated(deployment: Deployment) -> Iterator[str]:
    """What the scenario says on its own authority of drafts on GPUs of their own."""
    pool = deployment.draft_pool
    if pool is not None and pool.overlap.kind == "draft_ahead":
        ahead = pool.overlap
        chance = f"hit {ahead.hit:g}" if ahead.hit is not None else f"guess of the bonus token {ahead.bonus_guess:g}"
        yield f"{chance} of drafts that are made ahead as the scenario states it"


def _combination_stated(speculation: DraftSpeculation) -> Iterator[str]:
    combine, streams = speculation.combine, speculation.streams
    if combine.kind == "routed":
        shares = ", ".join(f"{name} {share:g}" for name, share in combine.accuracy.items())
        yield f"router's accuracy and latency as the scenario states them: {shares}; {combine.router.latency_s:g} s"
    if combine.kind == "union" and combine.survival is not None:
        yield f"acceptance of the union of {_classes(list(combine.survival))} as the scenario states it"
    if combine.kind == "union" and combine.recursive_rejection is not None:
        law = combine.recursive_rejection
        yield f"acceptance of the union by recursive rejection, drafts' correlation {law.correlation:g} as stated"
    if streams.kind == "parallel":
        yield f"contention {streams.contention:g} of the drafts' parallel streams as the scenario states it"


def _classes(names: list[str]) -> str:
    return f"{'class' if len(names) == 1 else 'classes'} {', '.join(names)}"
