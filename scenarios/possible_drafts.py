"""What the drafts of a well-formed scenario cannot do: propose what nothing is known of, or what no step can hold."""

from collections.abc import Collection, Iterator

from scenarios.problems import Path
from simulator.catalog.load import load_engine
from simulator.catalog.presets import stated
from simulator.errors import ScenarioError
from simulator.spec.acceptance import Acceptance
from simulator.spec.classes import classes_served
from simulator.spec.deployment import Deployment
from simulator.spec.draft import Draft
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation
from simulator.spec.workload import Workload

Told = tuple[Path, str]
"""Where below a deployment, and what."""
_PROPOSE: Path = ("speculation", "propose")
_NOISE = 0.02
"""By how much a union may have been measured outside what its drafts allow [0 to 1]."""


def impossible_drafts(deployment: Deployment, workload: Workload) -> Iterator[Told]:
    """What a deployment's drafts cannot propose, and what is not known of their acceptance."""
    speculation = deployment.speculation
    if speculation.kind == "none":
        return
    for name, draft in speculation.drafts.items():
        for of, acceptance in _asked(name, draft, speculation, workload.classes).items():
            yield from _unknown_positions(of, acceptance, speculation)
            place: Path = ("speculation", "drafts", name, "acceptance", of)
            yield from ((place, told) for told in _no_curve(acceptance, speculation, workload))
        yield from _shape_unlike(name, _asked(name, draft, speculation, workload.classes), speculation)
    yield from _idle(speculation, workload.classes)
    yield from _unlike_its_drafts(speculation)
    yield from _token_budget(deployment, speculation)
    yield from _unruled(deployment, speculation, workload)


def unused_temperature(scenario: Scenario) -> str:
    """What to say of a temperature that no draft's acceptance is known to depend on; nothing where one is."""
    drafts = [draft for deployment in scenario.deployments.values() for draft in deployment.speculation.drafts.values()]
    known = any(acceptance.by_temperature for draft in drafts for acceptance in draft.acceptance.values())
    if scenario.workload.temperature is None or known:
        return ""
    return (
        f"{scenario.workload.temperature:g} has no effect: no draft says how its acceptance depends on it; give "
        "by_temperature of an acceptance, or leave the temperature out"
    )


def _asked(name: str, draft: Draft, speculation: DraftSpeculation, classes: Collection[str]) -> dict[str, Acceptance]:
    """Acceptance of a draft that the simulation reads, by its name in the file."""
    served = classes_served(name, speculation, classes)
    return {of: draft.acceptance[of] for of in dict.fromkeys(c if c in draft.acceptance else "all" for c in served)}


def _unknown_positions(of: str, acceptance: Acceptance, speculation: DraftSpeculation) -> Iterator[Told]:
    """Depths beyond those that are known to be drafted; what is accepted beyond what was measured is extrapolated."""
    drafted, proposed = stated(acceptance).drafted, speculation.propose.depth
    if drafted and proposed > max(drafted):
        message = (
            f"{proposed}, but drafted goes up to {max(drafted)} tokens, that of class {of}: propose at most "
            f"{max(drafted)}, or measure more positions"
        )
        yield (*_PROPOSE, "draft_tokens"), message


def _shape_unlike(name: str, known: dict[str, Acceptance], speculation: DraftSpeculation) -> Iterator[Told]:
    """Acceptance of a chain where a tree is proposed, and the other way round."""
    place: Path = ("speculation", "drafts", name, "acceptance")
    shape = speculation.propose.shape
    of_trees = [of for of, acceptance in known.items() if acceptance.of == "tree"]
    bare = [of for of, acceptance in known.items() if acceptance.of == "chain" and acceptance.branches is None]
    if shape == "chain" and of_trees:
        yield (
            place,
            f"of: tree (class {', '.join(of_trees)}) says what a tree accepts, but chains are proposed: measure one or "
            "propose that tree",
        )
    if shape != "chain" and bare:
        yield (
            place,
            f"a {shape} is proposed, but for class {', '.join(bare)} nothing says what a second child is worth: give "
            "branches (chance that the 1st, 2nd, … child of a node is kept), or the tree's own figures by depth with "
            "of: tree",
        )


def _no_curve(acceptance: Acceptance, speculation: DraftSpeculation, workload: Workload) -> Iterator[str]:
    """Figures that no curve of acceptance goes through, or none at this temperature."""
    if acceptance.decay is None and acceptance.by_temperature is None:
        return
    from simulator.physics.factors import Conditions
    from simulator.physics.survival import acceptance_tables

    try:
        acceptance_tables(acceptance, speculation.propose.depth, Conditions(workload.temperature))
    except ScenarioError as error:
        yield str(error)


def _idle(speculation: DraftSpeculation, classes: Collection[str]) -> Iterator[Told]:
    """Drafts that take memory and get no request."""
    for name in speculation.drafts:
        if speculation.combine.kind == "routed" and not classes_served(name, speculation, classes):
            message = "no route leads to it and it is not the fallback: it would take memory and draft for nobody; "
            yield ("speculation", "drafts", name), f"{message}name it in routes, or leave it out"


def _unlike_its_drafts(speculation: DraftSpeculation) -> Iterator[Told]:
    """A union that was measured below each of its drafts, or above all together, where their acceptance is given."""
    combine = speculation.combine
    if combine.kind != "union" or combine.survival is None:
        return
    from simulator.physics.survival import survival_for

    for of, curve in combine.survival.items():
        known = [draft.acceptance[of] for draft in speculation.drafts.values() if of in draft.acceptance]
        if len(known) < len(speculation.drafts) or any(map(_under_conditions, known)):
            continue
        columns = zip(*(survival_for(one, len(curve)) for one in known), strict=True)
        for position, (together, alone) in enumerate(zip(curve, columns, strict=True), start=1):
            if not min(alone) - _NOISE <= together <= sum(alone) + _NOISE:
                message = (
                    f"{together:g} at position {position}, where its drafts alone have "
                    f"{', '.join(f'{share:.4g}' for share in alone)}: a union accepts as often as the draft that it "
                    "tries first at least, and as all together at most; correct one, or leave the drafts' out"
                )
                yield ("speculation", "combine", "survival", of), message
                break


def _under_conditions(acceptance: Acceptance) -> bool:
    """Whether what is accepted differs from what is given."""
    return any((acceptance.by_temperature, acceptance.by_context, acceptance.uplift))


def _token_budget(deployment: Deployment, speculation: DraftSpeculation) -> Iterator[Told]:
    """A step that cannot hold the draft tokens of a single sequence."""
    given = deployment.engine.max_num_batched_tokens
    budget = given or load_engine(deployment.engine.policy).scheduler.max_num_batched_tokens
    drafts = speculation.draft_tokens
    if budget < drafts + 1:
        yield (
            ("engine", "max_num_batched_tokens"),
            f"{budget}: a step verifies {drafts + 1} tokens of each sequence ({drafts} draft tokens and one more): "
            f"raise it to at least {drafts + 1}, or propose fewer draft tokens",
        )


def _unruled(deployment: Deployment, speculation: DraftSpeculation, workload: Workload) -> Iterator[Told]:
    """What a policy for draft tokens cannot rule: drafts of a length of their own, batches beyond its schedule."""
    policy = speculation.policy
    if policy.kind == "fixed":
        return
    for name, draft in speculation.drafts.items():
        for of, acceptance in _asked(name, draft, speculation, workload.classes).items():
            if stated(acceptance).drafted is not None:
                yield (
                    ("speculation", "drafts", name, "acceptance", of),
                    f"drafted says how many tokens a draft proposes by itself, and policy {policy.kind} would choose "
                    "that: leave one of them out",
                )
    most = deployment.engine.max_num_seqs or load_engine(deployment.engine.policy).scheduler.max_num_seqs
    if policy.kind == "by_batch" and policy.schedule[-1][1] < most:
        yield (
            ("speculation", "policy", "schedule"),
            f"the bands end at {policy.schedule[-1][1]} sequences, but up to {most} may run: end the last one there",
        )
