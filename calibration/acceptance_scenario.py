"""What an acceptance run found, as the `speculation` of a deployment: drafts, their shape, how they combine."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from calibration.acceptance_plan import AcceptancePlan
from calibration.branching import Branching, shares_of
from calibration.drafts import Drafts, catalog_name
from calibration.importers.finding import DIGITS, AcceptanceFinding
from engine.commands.drafting import UNION
from engine.loading.head_file import load_head
from simulator.errors import ScenarioError

Parts = Mapping[str, AcceptanceFinding]
"""Of all requests (`all`), and of the halves to fit to and held out."""
Records = Mapping[str, Sequence[Mapping[str, Any]]]
"""By class, as they were written."""
TABLE_ROUTER_PARAMETERS = 1
"""A router that is a table holds no weights on a GPU; a scenario asks for a number above 0."""


class Measured(NamedTuple):
    """A run, and each of its drafts alone where there are several."""

    plan: AcceptancePlan
    records: Records
    found: Mapping[str, Parts]
    parts: "Mapping[str, Measured]"


def speculation(of: Measured) -> dict[str, Any]:
    """The block of a scenario; each of several drafts has the acceptance that it has alone.

    Of a union, not in classes where the figures do not go together: steps of drafts alone are other steps.
    """
    plan = of.plan
    combined = _combined(of)
    whole = {plan.drafts.label: _draft(plan, of)} if combined is None else {}
    drafts = whole or {name: _draft(plan, alone) for name, alone in of.parts.items()}
    for name in of.found if plan.drafts.draft == UNION else ():
        if not goes_together(of, name):
            drafts = {draft: _without(said, name) for draft, said in drafts.items()}
    said = {"kind": "drafts", "drafts": drafts, "propose": propose(plan.drafts, plan.draft_tokens)}
    return said if combined is None else said | {"combine": combined}


def goes_together(union: Measured, name: str) -> bool:
    """Whether a union was seen to accept no less than its worst draft alone and no more than all of them added up."""
    alone = [part.found[name]["all"].survival or () for part in union.parts.values() if name in part.found]
    together = union.found[name]["all"].survival or ()
    return all(min(of) <= share <= sum(of) for share, of in zip(together, zip(*alone, strict=True), strict=True))


def _without(draft: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**draft, "acceptance": {of: said for of, said in draft["acceptance"].items() if of != name}}


def acceptance_by_class(of: Measured) -> dict[str, Any]:
    """What goes into `acceptance` of a draft; of a tree by depth, and a chain of all nodes where several are one."""
    return {name: acceptance_of(of.plan.drafts, of.plan.draft_tokens, parts["all"]) for name, parts in of.found.items()}


def any_tree(of: Measured) -> dict[str, Any]:
    """By class: acceptance for other trees of the same draft, by which child of a node is kept."""
    found = {}
    for name, records in of.records.items():
        shares = shares_of(Branching(**record["branching"]) for record in records if "branching" in record)
        if len(shares.branches) > 1 and shares.branches[0] > 0:
            found[name] = {"survival": list(shares.survival), "branches": list(shares.branches)}
    return found


def ahead(of: Measured) -> dict[str, Any]:
    """By class: share of drafts that were there when they were asked for, and of the drafts' time that was hidden."""
    told = {name: [r["ahead"] for r in records if "ahead" in r] for name, records in of.records.items()}
    return {
        name: {"hit": one["hits"] / one["asked"] if one["asked"] else None, "hidden_share": one["hidden_share"]}
        for name, (one, *_) in ((name, found) for name, found in told.items() if found)
    }


def propose(drafts: Drafts, k: int) -> dict[str, Any]:
    """What is proposed, in the planner's words."""
    if drafts.tree is not None:
        return {"shape": "tree", "widths": [int(width) for width in drafts.tree.split(",")]}
    if drafts.nodes is not None:
        paths = [[int(child) for child in path.split(".")] for path in drafts.nodes.split(",")]
        return {"shape": "nodes", "paths": sorted(paths, key=lambda path: (len(path), path))}
    if drafts.dynamic_tree is not None:
        names = ("depth", "top_k", "nodes")
        sizes = map(int, drafts.dynamic_tree.split(","))
        return {"shape": "dynamic_tree", **dict(zip(names, sizes, strict=True))}
    return {"shape": "chain", "draft_tokens": k}


def acceptance_of(drafts: Drafts, k: int, found: AcceptanceFinding) -> dict[str, Any]:
    """Acceptance of a class; of a tree by depth, with the nodes that were proposed where those are not always all."""
    said = found.block()
    if drafts.shape() is None:
        return said
    depth = drafts.depth(k)
    return {key: _up_to(of, depth) if key == "histogram" else of for key, of in said.items()} | {"of": "tree"}


def _up_to(counts: Mapping[int, int], depth: int) -> dict[int, int]:
    return {accepted: steps for accepted, steps in counts.items() if accepted <= depth}


def _draft(plan: AcceptancePlan, of: Measured) -> dict[str, Any]:
    drafts = of.plan.drafts
    way = WAYS[drafts.draft](plan, drafts) if drafts.draft in WAYS else {"ngram": {}}
    return {**way, "acceptance": acceptance_by_class(of)}


def _head(plan: AcceptancePlan, drafts: Drafts) -> dict[str, Any]:
    weights = load_head(Path(str(drafts.head)))
    said: dict[str, Any] = {"method": "eagle", "intermediate_size": weights.architecture.intermediate_size}
    if weights.vocabulary is not None:
        said["vocab_size"] = len(weights.vocabulary)
    return {"head": said, "weights": "fp32", "kv": "fp32"}


def _subset(plan: AcceptancePlan, drafts: Drafts) -> dict[str, Any]:
    if drafts.resident_experts is None or drafts.active_experts is None:
        raise ScenarioError(
            "--draft moe_subset: say how much of the target drafts: --resident-experts, --active-experts"
        )
    experts = {"resident_experts": drafts.resident_experts, "active_experts": drafts.active_experts}
    return {"moe_subset": experts | {"shares_kv": True}}


def _model(name: str | None) -> dict[str, Any]:
    return {"model": catalog_name(str(name)), "weights": "fp32", "kv": "fp32"}


WAYS: Mapping[str, Callable[[AcceptancePlan, Drafts], dict[str, Any]]] = {
    "head": _head,
    "model": lambda plan, drafts: _model(drafts.draft_model),
    "moe_subset": _subset,
    "noisy_target": lambda plan, drafts: _model(plan.model),
}
"""The engine's draft → how a scenario gives it; all others copy text."""


def _combined(of: Measured) -> dict[str, Any] | None:
    """How the drafts work together; None: they are one draft to a scenario, for a router chooses anew in each step."""
    if of.plan.drafts.draft == UNION:
        curves = {name: parts["all"].survival or () for name, parts in of.found.items()}
        return {
            "kind": "union",
            "survival": {name: [round(share, DIGITS) for share in curve] for name, curve in curves.items()},
        }
    chosen = choices(of.records)
    return _routed(of, chosen) if chosen else None


def choices(records: Records) -> dict[str, Counter[str]]:
    """By class: requests that a router sent to each draft."""
    told = {name: Counter(r["router"]["draft"] for r in some if "router" in r) for name, some in records.items()}
    return {name: counts for name, counts in told.items() if counts}


def _routed(of: Measured, chosen: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Routes by class, how often they are taken, and the draft that most requests get that are sent astray."""
    routes = {name: own_draft(name, counts, of.parts) for name, counts in chosen.items()}
    astray: Counter[str] = Counter()
    for name, counts in chosen.items():
        astray += Counter({draft: n for draft, n in counts.items() if draft != routes[name]})
    seconds = [r["router"]["seconds"] for some in of.records.values() for r in some if "router" in r]
    fallback = astray.most_common(1)[0][0] if astray else next(iter(routes.values()))
    accuracy = {name: round(counts[routes[name]] / counts.total(), DIGITS) for name, counts in chosen.items()}
    router = {"parameters": TABLE_ROUTER_PARAMETERS, "latency_s": round(fmean(seconds), 7)}
    return {"kind": "routed", "routes": routes, "accuracy": accuracy, "fallback": fallback, "router": router}


def own_draft(name: str, counts: Counter[str], parts: Mapping[str, Measured]) -> str:
    """The draft that is right for a class: the one whose table is named after it, else the one that is taken most."""
    own = [draft for draft, of in parts.items() if name in (Path(table).stem for table in of.plan.drafts.ngram)]
    return own[0] if own else counts.most_common(1)[0][0]
