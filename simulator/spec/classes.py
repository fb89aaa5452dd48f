"""Whether a deployment's speculation says what it must of the workload's classes, and nothing of any other class."""

from collections.abc import Collection, Iterator

from simulator.spec.speculation import DraftSpeculation, Speculation


def class_problems(speculation: Speculation, classes: Collection[str]) -> Iterator[str]:
    """Classes of the workload for which something is missing, and names that are no class of it."""
    if speculation.kind == "none":
        return
    for whose, what, given, needed in _by_class(speculation, classes):
        if missing := [name for name in needed if name not in given and "all" not in given]:
            yield f"{whose} has no {what} for class {', '.join(missing)}: name the class or `all`"
        if unused := [name for name in given if name not in classes and name != "all"]:
            yield (
                f"{whose} has {what} for class {', '.join(unused)}, which the workload does not have; its classes: "
                f"{', '.join(classes)}"
            )


Said = tuple[str, str, Collection[str], Collection[str]]
"""Whose, what, for which classes it is given, and for which it is needed."""


def _by_class(speculation: DraftSpeculation, classes: Collection[str]) -> Iterator[Said]:
    combine = speculation.combine
    for name, draft in speculation.drafts.items():
        whose = "the draft" if combine.kind == "single" else f"draft {name}"
        yield whose, "acceptance", draft.acceptance, classes_served(name, speculation, classes)
    if combine.kind == "routed":
        yield "the router", "route", combine.routes, classes
        yield "the router", "accuracy", combine.accuracy, classes
    if combine.kind == "union" and combine.survival is not None:
        yield "the union", "survival", combine.survival, classes


def classes_served(name: str, speculation: DraftSpeculation, classes: Collection[str]) -> list[str]:
    """Classes whose requests a draft may get; none in a union whose survival was measured as a whole."""
    combine = speculation.combine
    if combine.kind == "routed" and name != combine.fallback:
        return [c for c in classes if combine.routes.get(c, combine.routes.get("all")) == name]
    return [] if combine.kind == "union" and combine.survival is not None else list(classes)
