"""The candidates of a plan: every deployment of its file, an offer, in every choice of `plan.vary`."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios.problems import Problem, shortened
from scenarios.sets import all_places, find_place, nearest_place, put
from scenarios.shape import TAGS, entry_types
from scenarios.sweep import no_values
from scenarios.yaml_nodes import Node, child, plain
from simulator.catalog.load import is_config
from simulator.spec.deployment import Deployment
from simulator.spec.scenario import Scenario

MOST_CANDIDATES = 10_000
LONGEST_NAME = 80
"""Characters that a `Name` of the specs has at most."""

SHORT = {
    "tensor_parallel": "tp",
    "data_parallel": "dp",
    "expert_parallel": "ep",
    "draft_tokens": "k",
    "max_num_seqs": "seqs",
    "max_num_batched_tokens": "tokens",
    "gpu": "",
}
"""Last key of a path → how names of candidates call it; others by the key itself."""
_NAMES = (*TAGS, "catalog", "policy", "model")
"""Keys by which a mapping is told from others."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A place inside a deployment, and the values that it may take."""

    name: str
    """As the file spells the path."""
    line: Node
    """Where the file says it."""
    values: tuple[Node, ...]
    labels: tuple[str, ...]
    """Of each value, its part of a candidate's name; empty where there is no choice."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An offer in one choice of values."""

    name: str
    offer: str
    choices: dict[str, Any]
    """Dotted path → value, in the order of the file."""
    node: Node
    """The deployment, with the values in it."""


def read_axes(vary: Node | None) -> tuple[list[Axis], list[Problem]]:
    """The axes of `plan.vary`, and what is wrong with their lists."""
    axes: list[Axis] = []
    problems: list[Problem] = []
    entries = vary.value if vary is not None and isinstance(vary.value, dict) else {}
    last_keys = Counter(str(name).rpartition(".")[2] for name in entries)
    for key, values in entries.items():
        name = str(key)
        wrong = _no_choice(name, values)
        if wrong is not None:
            problems.append(_problem(name, values, wrong))
        elif isinstance(values.value, list):
            parts = name.split(".")[-1 if last_keys[name.rpartition(".")[2]] == 1 else -2 :]
            axes.append(Axis(name, values, tuple(values.value), _labels(parts, [plain(v) for v in values.value])))
    return axes, problems


def _no_choice(name: str, values: Node) -> str | None:
    """Why an entry is no list of choices; None when it is one."""
    if name.partition(".")[0] in entry_types(Scenario):
        return "a plan varies what stands inside a deployment: write the path from there on, as in target.kv"
    if name == "extends":
        return "extends cannot be varied: write the deployments out"
    return no_values(values)


def _problem(name: str, node: Node, message: str) -> Problem:
    return Problem(node.file, node.line, f"plan.vary.{shortened(name)}", message)


def _labels(parts: Sequence[str], values: Sequence[Any]) -> tuple[str, ...]:
    """How names call each value of a path that ends in `parts`; those that read alike are numbered.

    >>> _labels(["draft_tokens"], [1, 2]), _labels(["gpu"], ["h200-sxm", "b200-sxm"]), _labels(["kv"], ["fp8"])
    (('k1', 'k2'), ('h200-sxm', 'b200-sxm'), ('',))
    >>> _labels(["placement"], [{"kind": "dedicated", "gpus": 1}, {"kind": "dedicated", "gpus": 2}])
    ('dedicated-1', 'dedicated-2')
    """
    if len(values) == 1:
        return ("",)
    key = "-".join(part for part in (*parts[:-1], SHORT.get(parts[-1], parts[-1])) if part)
    found = [_label(key, value) for value in values]
    often = Counter(found)
    return tuple(text if often[text] == 1 else f"{text}-{number}" for number, text in enumerate(found, start=1))


def _label(key: str, value: Any) -> str:
    if isinstance(value, dict):
        text = next((str(value[name]) for name in _NAMES if name in value), key)
    elif isinstance(value, list):
        text = "-".join([key, *map(str, value)])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = f"{key}{value}"
    elif key == "model" and isinstance(value, str) and is_config(value):
        text = f"{key}-{Path(value).stem}"
    else:
        text = "-".join(part for part in (key, _word(value)) if part)
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or key


def _word(value: Any) -> str:
    """A value that is no number, as a file writes it.

    >>> _word(None), _word(True), _word("fp8")
    ('default', 'true', 'fp8')
    """
    return "default" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def candidates(offers: Mapping[str, Node], axes: Sequence[Axis]) -> Iterator[Candidate]:
    """Every offer in every choice, in the order of the file.

    An axis whose place an offer does not have, as draft tokens where nothing is drafted, does not vary it. A place that
    holds another one is put first.
    """
    taken: set[str] = set()
    outer_first = sorted(axes, key=lambda axis: axis.name.count("."))
    for offer, node in offers.items():
        for chosen, varied in _choices(_speculation_said(node), outer_first, {}):
            in_order = [(axis, chosen[axis.name]) for axis in axes if axis.name in chosen]
            labels = [axis.labels[number] for axis, number in in_order]
            name = _unique(offer, "".join(f".{label}" for label in labels if label), taken)
            yield Candidate(
                name, offer, {axis.name: plain(axis.values[n]) for axis, n in in_order}, _with_replicas(varied)
            )


def _choices(node: Node, axes: Sequence[Axis], chosen: dict[str, int]) -> Iterator[tuple[dict[str, int], Node]]:
    """Positions of the values that are chosen, by axis, and the deployment with them."""
    if not axes:
        yield chosen, node
        return
    axis, *rest = axes
    path = find_place(node, axis.name, Deployment)
    if path is None:
        yield from _choices(node, rest, chosen)
        return
    for number, value in enumerate(axis.values):
        yield from _choices(put(node, node, path, value), rest, {**chosen, axis.name: number})


def _speculation_said(offer: Node) -> Node:
    """An offer that says nothing of speculation has none, and so no place for what drafts are given."""
    if not isinstance(offer.value, dict) or "speculation" in offer.value:
        return offer
    plain_decoding = Node({"kind": Node("none", offer.file, offer.line)}, offer.file, offer.line)
    return Node({**offer.value, "speculation": plain_decoding}, offer.file, offer.line, offer.whole)


def _with_replicas(deployment: Node) -> Node:
    """A deployment with the fewest replicas that it can have: how many it needs is what a plan finds."""
    if not isinstance(deployment.value, dict):
        return deployment
    said = deployment.value.get("replicas", Node(1, deployment.file, deployment.line))
    shared_by = child(child(child(deployment, "speculation"), "placement"), "shared_by")
    if shared_by is not None and isinstance(shared_by.value, int) and isinstance(said.value, int):
        said = shared_by if shared_by.value > said.value else said
    return Node({**deployment.value, "replicas": said}, deployment.file, deployment.line, deployment.whole)


def _unique(offer: str, choices: str, taken: set[str]) -> str:
    """A name that no other candidate has, of a length that a deployment's may have: the offer's is cut, then choices.

    >>> _unique("chat-" * 15, ".tp2.k3", {"x"}), _unique("a", ".tp2", {"a.tp2"})
    ('chat-chat-chat-chat-chat-chat-chat-chat-chat-chat-chat-chat-chat-chat-cha.tp2.k3', 'a.tp2-2')
    """
    mark, number = "", len(taken) + 1
    while (found := _cut(offer, choices, mark)) in taken:
        mark, number = f"-{number}", number + 1
    taken.add(found)
    return found


def _cut(offer: str, choices: str, mark: str) -> str:
    room = LONGEST_NAME - len(mark)
    return f"{offer[: max(room - len(choices), 1)]}{choices}"[:room] + mark


def unused_axes(axes: Sequence[Axis], found: Sequence[Candidate], offers: Mapping[str, Node]) -> Iterator[Problem]:
    """Axes whose place no offer has, whatever is chosen."""
    used = {name for candidate in found for name in candidate.choices}
    for axis in axes:
        if axis.name not in used and offers:
            known = [place for node in offers.values() for place in all_places(node, Deployment)]
            close = nearest_place(list(dict.fromkeys(known)), axis.name)
            yield _problem(
                axis.name, axis.line, "no deployment has this place" + (f"; nearest: {close}" if close else "")
            )


def one_price_for_all(axes: Sequence[Axis], offers: Mapping[str, Node]) -> Iterator[Problem]:
    """Offers of several GPU types at one price."""
    varied = {axis.name: axis for axis in axes}
    gpus = varied.get("gpu")
    if gpus is None or len(gpus.values) == 1 or "price" in varied:
        return
    for offer, node in offers.items():
        price = child(node, "price")
        if price is not None and child(price, "catalog") is None:
            message = (
                f"one price for {len(gpus.values)} GPU types (plan.vary.gpu): write {{catalog: NAME}}, a price list "
                "that has them all, or an offer for each type"
            )
            yield Problem(price.file, price.line, f"deployments.{offer}.price", message)
