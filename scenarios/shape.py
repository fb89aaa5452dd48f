"""What the specs allow at a place of a scenario file: walks their types along the data."""

import types
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from simulator.spec.deployment import Deployment
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

FILE_KEYS: dict[str, Any] = {"sweep": Any, "assert": Any, "plan": Plan}
"""Keys of a file that no point of it has → what they hold."""
TAGS = ("kind", "shape")
"""Keys that tell the branches of a union apart."""
DEPLOYMENT_KEYS: dict[str, Any] = {"extends": Any}
"""Keys of a deployment in a file that are gone once it is resolved."""


def bare(annotation: Any) -> Any:
    """A type without constraints and `| None`."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif is_union(annotation) and len(branches(annotation)) == 1:
            annotation = branches(annotation)[0]
        else:
            return annotation


def is_union(annotation: Any) -> bool:
    """Whether a type is one of several."""
    return get_origin(annotation) in (Union, types.UnionType)


def branches(annotation: Any) -> list[Any]:
    """The types that a value may have, None left out."""
    if not is_union(annotation):
        return [annotation]
    return [bare(option) for option in get_args(annotation) if option is not type(None)]


def is_model(annotation: Any) -> bool:
    """Whether a type is a spec."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def tag(annotation: Any) -> str | None:
    """The key by which the branches of a union are told apart: `kind` or `shape`; None where they have none."""
    models = [option for option in branches(bare(annotation)) if is_model(option)]
    return next((key for key in TAGS if any(key in model.model_fields for model in models)), None)


def kinds(annotation: Any) -> dict[str, Any]:
    """Value of the tag → the branch of a union that has it."""
    key, found = tag(annotation), dict[str, Any]()
    for option in branches(bare(annotation)):
        if is_model(option) and key in option.model_fields:
            found |= dict.fromkeys(get_args(option.model_fields[key].annotation), option)
    return found


def _usual(key: str, options: Iterable[Any]) -> Any:
    """The branch that is meant where the tag is not written: the one with a default; None without such a branch."""
    return next((option for option in options if not option.model_fields[key].is_required()), None)


def choose(annotation: Any, data: Any) -> Any:
    """The branch that the data means; None when its tag is none of the union's."""
    annotation = bare(annotation)
    options = branches(annotation)
    if len(options) == 1:
        return options[0]
    models = [option for option in options if is_model(option)]
    if not isinstance(data, dict):
        return next((option for option in options if not is_model(option)), None)
    if key := tag(annotation):
        by_kind, kind = kinds(annotation), data.get(key)
        return by_kind.get(kind) if isinstance(kind, str) else None if key in data else _usual(key, by_kind.values())
    return max(models, key=lambda model: _likeness(model, data), default=None)


def _likeness(model: Any, data: dict[Any, Any]) -> tuple[int, int]:
    """Keys of the data that a spec knows; among equals, the spec that lacks the fewest."""
    fields = model.model_fields
    lacks = sum(field.is_required() and name not in data for name, field in fields.items())
    return len(fields.keys() & data.keys()), -lacks


def entry_types(annotation: Any) -> dict[str, Any]:
    """The named places under a type: fields of a spec, keys of a mapping whose keys are listed."""
    annotation = bare(annotation)
    if is_model(annotation):
        own = {name: field.annotation for name, field in annotation.model_fields.items()}
        more: dict[str, Any] = {Scenario: FILE_KEYS, Deployment: DEPLOYMENT_KEYS}.get(annotation, {})
        return own | more
    if get_origin(annotation) is dict:
        key, value = get_args(annotation)
        return dict.fromkeys(get_args(bare(key)), value) if get_origin(bare(key)) is Literal else {}
    if is_union(annotation):
        return {name: kind for option in branches(annotation) for name, kind in entry_types(option).items()}
    return {}


def child_type(annotation: Any, key: str | int) -> Any:
    """The type under a key of a spec, a mapping or a list; None when there is none."""
    annotation = bare(annotation)
    if is_model(annotation) or is_union(annotation):
        return entry_types(annotation).get(str(key))
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return arguments[1]
    if get_origin(annotation) in (tuple, list) and arguments:
        return arguments[0]
    return None


def type_at(path: tuple[str | int, ...], data: Any) -> Any:
    """The type of a place in a scenario's data; None where the specs know nothing."""
    annotation: Any = Scenario
    for key in path:
        annotation = child_type(choose(annotation, data), key)
        if annotation is None:
            return None
        data = inner(data, key)
    return choose(annotation, data)


def inner(data: Any, key: str | int) -> Any:
    """The data under a key; None when there is none."""
    if isinstance(data, dict):
        return data.get(key)
    if isinstance(data, list) and isinstance(key, int) and 0 <= key < len(data):
        return data[key]
    return None
