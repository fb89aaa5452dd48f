"""`extends`: a deployment that says only where it differs from another one of the same file."""

from dataclasses import replace

from scenarios.problems import Problem, dotted, shown, way_out
from scenarios.shape import TAGS
from scenarios.yaml_nodes import Node, child
from simulator.spec.draft import WAYS

EXCLUSIVE: tuple[frozenset[str], ...] = (
    frozenset({"catalog", "usd_per_gpu_hour"}),
    frozenset({"survival", "tokens_per_step", "histogram", "preset"}),
    frozenset({"survival", "recursive_rejection"}),
    frozenset(WAYS),
)
"""Ways to say one thing: a mapping that says it in another way than the inherited one replaces it."""
_UNWRITTEN = {"shape": "chain"}
"""What is meant where a tag that may be left out is."""


def resolve_extends(root: Node) -> tuple[Node, list[Problem]]:
    """The file with every deployment written out, and what is wrong with its `extends`."""
    deployments = child(root, "deployments")
    if deployments is None or not isinstance(deployments.value, dict) or not isinstance(root.value, dict):
        return root, []
    done: dict[str | int, Node] = {}
    problems: list[Problem] = []
    for name in deployments.value:
        _write_out(deployments.value, name, done, problems)
    ordered: dict[str | int, Node] = {name: done[name] for name in deployments.value}
    return replace(root, value=root.value | {"deployments": replace(deployments, value=ordered)}), problems


def _write_out(
    all_nodes: dict[str | int, Node], name: str | int, done: dict[str | int, Node], problems: list[Problem]
) -> None:
    """Resolve a deployment and those that it extends, from the far end of the chain."""
    chain: dict[str | int, None] = {}
    at: str | int | None = name
    while at is not None and at not in done and at not in chain:
        chain[at] = None
        at = _base_of(all_nodes, at, problems)
    if at in chain:
        where = all_nodes[at]
        links = list(chain)
        circle = " → ".join(str(part) for part in [*links[links.index(at) :], at])
        problems.append(Problem(where.file, where.line, dotted(("deployments", at, "extends")), f"a circle: {circle}"))
        at = None
    for link in reversed(chain):
        own = _without_extends(all_nodes[link])
        done[link] = own if at is None else merge(done[at], own)
        at = link


def _base_of(all_nodes: dict[str | int, Node], name: str | int, problems: list[Problem]) -> str | int | None:
    """The deployment that one extends; None when it extends none that exists."""
    extends = child(all_nodes[name], "extends")
    if extends is None:
        return None
    if isinstance(extends.value, str | int) and extends.value in all_nodes:
        return extends.value
    others = [str(other) for other in all_nodes if other != name]
    if isinstance(extends.value, str):
        message = f"no deployment {shown(extends.value)} in this file; {way_out(extends.value, others)}"
    else:
        message = f"the name of one deployment of this file is needed; {way_out('', others)}"
    problems.append(Problem(extends.file, extends.line, dotted(("deployments", name, "extends")), message))
    return None


def _without_extends(node: Node) -> Node:
    if not isinstance(node.value, dict):
        return node
    return replace(node, value={key: inner for key, inner in node.value.items() if key != "extends"})


def merge(base: Node, over: Node) -> Node:
    """What a deployment says, over what it inherits."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict) or over.whole or replaces(base, over):
        return over
    entries = dict(base.value)
    for key, node in over.value.items():
        entries[key] = merge(entries[key], node) if key in entries else node
    return replace(over, value=entries)


def replaces(base: Node, over: Node) -> bool:
    """Whether a mapping stands for itself: its kind differs, or it says in another way what the base says."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return False
    for key in TAGS:
        ours, theirs = child(over, key), child(base, key)
        if ours is not None and (theirs.value if theirs is not None else _UNWRITTEN.get(key, ours.value)) != ours.value:
            return True
    ours_stated, theirs_stated = set(over.value), set(base.value)
    return any(
        bool(ways & ours_stated) and bool(ways & theirs_stated) and ways & ours_stated != ways & theirs_stated
        for ways in EXCLUSIVE
    )
