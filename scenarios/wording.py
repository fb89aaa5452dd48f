"""A spec's complaints in the user's words: dotted path, line, value, and the nearest valid name."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scenarios import hints, not_modelled
from scenarios.catalog_names import known_names
from scenarios.other_names import INSTEAD, OTHER_KINDS, OURS, homes
from scenarios.problems import Path, Problem, nearest, shown, way_out
from scenarios.shape import (
    DEPLOYMENT_KEYS,
    FILE_KEYS,
    bare,
    child_type,
    choose,
    entry_types,
    inner,
    is_model,
    is_union,
    kinds,
    tag,
    type_at,
)
from scenarios.yaml_nodes import Node, plain, problem_at
from simulator.spec.scenario import Scenario

MISSING: dict[str, str] = {
    "acceptance": (
        "acceptance is never assumed; per class of the workload give one of: survival (chance per position), "
        "tokens_per_step with at, histogram (accepted count: steps), both from the engine's counters or a measured "
        "profile, or preset (a curve of the catalog)"
    ),
    "price": (
        "there is no default price; write USD per GPU-hour as a number, "
        "{usd_per_gpu_hour, basis, source, as_of}, or {catalog: NAME}"
    ),
    "seed": "a whole number, the root of every random stream: same seed, same report",
    "schema_version": "write `schema_version: 1`",
}
"""Key that is not there → the way out, where the field's own words do not say it."""

_ELSEWHERE = {
    **dict.fromkeys(FILE_KEYS, "stands at the top of the file"),
    **dict.fromkeys(DEPLOYMENT_KEYS, "stands directly in a deployment"),
}
_NO_MAPPING = ("model_type", "dict_type", "model_attributes_type")
_ENTRIES = "; in braces a comma begins the next entry: write `key: value`, and decimals with a point"


@dataclass(frozen=True, slots=True)
class Fault:
    """One complaint with what is needed to word it."""

    error: ErrorDetails
    path: Path
    parent: Any
    """Type of the mapping that the place is in."""
    is_key: bool
    """Whether a key is wrong, not its value."""

    @property
    def key(self) -> str:
        """The last key of the path."""
        return str(self.path[-1]) if self.path else ""

    @property
    def value(self) -> Any:
        """What stands in the file."""
        return self.error["input"]

    def context(self, name: str) -> str:
        """A detail that the spec gives."""
        return str(self.error.get("ctx", {}).get(name, ""))


def problems_of(error: ValidationError, root: Node) -> Iterator[Problem]:
    """The problems behind a failed validation; root is the file that was validated."""
    data = plain(root)
    faults = [fault for details in error.errors(include_url=False) if (fault := _fault(details, data)) is not None]
    misspelt = set(_misspelt(faults))
    for fault in faults:
        if (fault.error["type"] == "missing" and fault.path in misspelt) or _counts_only_the_good(fault):
            continue
        message, path = WORDINGS.get(fault.error["type"], _as_it_says)(fault), fault.path
        if _is_one_level_up(fault):
            path = path[:-1]
        if fault.error["type"] == "union_tag_invalid":
            path = (*path, tag(child_type(fault.parent, fault.key)) or "kind")
        if not path and (named := re.match(r"deployments\.(.{1,80}?): ", message)):
            path, message = ("deployments", named[1]), message[named.end() :]
        yield problem_at(root, path, message)


def _misspelt(faults: Iterable[Fault]) -> Iterator[Path]:
    """Places whose key is there under a name that nearly is theirs: to call them missing, too, would tell it twice."""
    for fault in faults:
        if fault.error["type"] == "extra_forbidden":
            meant = (OURS.get(fault.key.lower()), nearest(fault.key, entry_types(fault.parent)))
            yield from ((*fault.path[:-1], name) for name in meant if name)


def _counts_only_the_good(fault: Fault) -> bool:
    """Whether a list is called too short only because an entry is wrong, which is told."""
    return fault.error["type"] == "too_short" and len(fault.value) >= fault.error["ctx"]["min_length"]


def _is_one_level_up(fault: Fault) -> bool:
    """Whether what an entry of a mapping takes stands in the mapping itself, as survival without its class."""
    is_entry = fault.error["type"] in _NO_MAPPING and get_origin(fault.parent) is dict
    return is_entry and fault.key in entry_types(child_type(fault.parent, fault.key))


def _fault(details: ErrorDetails, data: Any) -> Fault | None:
    """Walk a complaint's location without the names of union branches; None: a branch that is not meant."""
    at: Any = Scenario
    whole, path, is_key = data, list[str | int](), False
    for part in details["loc"]:
        if part == "[key]":
            is_key = True
            break
        if is_union(bare(at)):
            at = choose(at, data)
            if at is None or not _is_label(part, at):
                return None
            continue
        path.append(part)
        at, data = child_type(at, part), inner(data, part)
    return Fault(details, tuple(path), type_at(tuple(path[:-1]), whole), is_key)


def _is_label(part: str | int, branch: Any) -> bool:
    """Whether a location's part names this branch of a union."""
    if not is_model(branch):
        return not str(part)[:1].isupper()
    return part == branch.__name__ or part in kinds(branch)


def _as_it_says(fault: Fault) -> str:
    message = fault.error["msg"].replace("dictionary", "mapping").replace("tuple", "list").replace("Tuple", "List")
    message = message.replace(" after validation", "")
    hint = _price_hint(fault) if fault.key == "price" else ""
    return f"{shown(fault.value)}: {message}{_hint(fault, message) or ''}{hint}"


def _hint(fault: Fault, message: str) -> str:
    value, kind = fault.value, fault.error["type"]
    if fault.is_key or kind == "invalid_key":
        return _ENTRIES if kind in ("string_type", "invalid_key") else ""
    if kind in ("tuple_type", "list_type", "too_short", "too_long"):
        return f"; {words}" if (words := _words(fault)) else ""
    if value is None:
        return "; nothing stands after the key"
    if kind.startswith("date"):
        return hints.for_day(value)
    if isinstance(value, str):
        return hints.for_text(value) if "valid string" not in message else ""
    if isinstance(value, bool | int | float | date) and "valid string" in message:
        return f'; put it in quotes: "{value}"'
    limit = fault.error.get("ctx", {}).get("le")
    return hints.for_number(value, kind, limit) if isinstance(value, int | float) else ""


def _price_hint(fault: Fault) -> str:
    if isinstance(fault.value, str) and fault.value in known_names("prices"):
        return f"; write {{catalog: {fault.value}}}"
    return f"; {MISSING['price']}"


def _unknown_key(fault: Fault) -> str:
    key, here = fault.key, entry_types(fault.parent)
    if key in not_modelled.KEYS:
        return not_modelled.KEYS[key]
    if key in _ELSEWHERE:
        return f"unknown key here; {key} {_ELSEWHERE[key]}"
    if (ours := OURS.get(key.lower())) in here:
        return f"unknown key; {'nearest:' if ours == nearest(key, here) else 'here it is called'} {ours}"
    if key.lower() in INSTEAD:
        return f"unknown key; {INSTEAD[key.lower()]}"
    if key.endswith("_ms") and f"{key[:-3]}_s" in here:
        return f"unknown key; nearest: {key[:-3]}_s, in seconds"
    if any(_is_at(place, fault.path[:-1]) for place in homes(key)):
        return f"does not go with the other keys here; {_with_kind(fault)}{', '.join(here)}"
    if (ours := key if homes(key) else OURS.get(key.lower())) and (places := homes(ours)) and len(places) <= 3:
        return f"unknown key here; {ours} stands in {' or '.join(places)}"
    return f"unknown key; {way_out(key, here)}"


def _is_at(place: str, path: Path) -> bool:
    """Whether a place, with `*` for names of the user's own, is where a path leads."""
    parts = place.split(".")
    return len(parts) == len(path) and all(p in ("*", str(q)) for p, q in zip(parts, path, strict=True))


def _with_kind(fault: Fault) -> str:
    """The kind that decides which keys there are."""
    key = tag(fault.parent)
    return f"{key} {next(iter(kinds(fault.parent)))} takes " if key is not None else "known: "


def _missing(fault: Fault) -> str:
    if fault.key in MISSING:
        return f"missing: {MISSING[fault.key]}"
    return f"missing: {_words(fault) or 'the key is required'}"


def _listed(text: str) -> list[str]:
    return re.findall(r"'([^']*)'", text) or [text]


def _not_listed(fault: Fault) -> str:
    allowed = _listed(fault.context("expected") or fault.context("expected_tags"))
    if not fault.is_key and isinstance(fault.value, str) and fault.context("expected") == fault.value:
        return f"{shown(fault.value)}: write {fault.value} without quotes"
    subject = "unknown key" if fault.is_key else f"{shown(fault.value)}: not one of the known values"
    close = way_out(fault.value, allowed)
    known = f"known: {', '.join(allowed)}"
    return f"{subject}; {close}" if close.startswith("known") else f"{subject}; {close}; {known}"


def _unknown_kind(fault: Fault) -> str:
    allowed = _listed(fault.context("expected_tags"))
    word, key = fault.context("tag"), tag(child_type(fault.parent, fault.key))
    theirs = OTHER_KINDS.get(word.lower()) if "speculation" in fault.path else None
    close = theirs or way_out(word, allowed)
    known = "" if close.startswith("known") else f"; known: {', '.join(allowed)}"
    return f"{shown(word)}: unknown {key}; {close}{known}"


def _no_kind(fault: Fault) -> str:
    union = child_type(fault.parent, fault.key)
    return f"{tag(union)} is missing; known: {', '.join(kinds(union))}"


def _no_mapping(fault: Fault) -> str:
    fields = entry_types(child_type(fault.parent, fault.key)) if fault.path else entry_types(Scenario)
    if _is_one_level_up(fault):
        above, name = ("a class, or all", "all") if fault.path[-2] == "acceptance" else ("a name of yours", "NAME")
        return f"{fault.key} stands one level deeper, under {above}: write {{{name}: {{{fault.key}: …}}}}"
    if fields:
        return f"{shown(fault.value)}: a mapping is needed of {', '.join(fields)}"
    words = _words(fault)
    return f"{shown(fault.value)}: a mapping is needed, {{name: value, …}}" + (f": {words}" if words else "")


def _words(fault: Fault) -> str:
    """What the spec says of the field."""
    fields = fault.parent.model_fields if is_model(fault.parent) else {}
    return " ".join((fields[fault.key].description or "").split()) if fault.key in fields else ""


def _rule(fault: Fault) -> str:
    return fault.error["msg"].removeprefix("Value error, ")


def _name(fault: Fault) -> str:
    return f"{shown(fault.value)}: a name has letters, digits, dots, dashes and underscores, at most 80"


WORDINGS: dict[str, Callable[[Fault], str]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "literal_error": _not_listed,
    "union_tag_invalid": _unknown_kind,
    "union_tag_not_found": _no_kind,
    **dict.fromkeys(_NO_MAPPING, _no_mapping),
    "value_error": _rule,
    "string_pattern_mismatch": _name,
}
"""Kind of complaint → its wording; all others are told as the spec tells them, with the value."""
