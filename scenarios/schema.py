"""The JSON schema of a scenario FILE, for editors: the specs' own, with `extends`, `sweep`, `assert` and `plan`."""

import json
import sys
from typing import Any

from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/"


def scenario_json_schema() -> dict[str, Any]:
    """The schema in dialect 2020-12; what needs more than one place to judge is left to the loader."""
    schema: dict[str, Any] = _closed(Scenario.model_json_schema())
    definitions: dict[str, Any] = schema["$defs"]
    partial = {f"{name}Override": _optional(body) for name, body in definitions.items() if name != "Workload"}
    partial["DeploymentOverride"]["properties"]["extends"] = {
        "type": "string",
        "description": "Deployment of this file from which everything is taken that is not said here.",
    }
    definitions |= _reachable(partial, "DeploymentOverride")
    plan = _closed(Plan.model_json_schema())
    definitions |= plan.pop("$defs") | {"Plan": plan}
    schema["properties"] |= _file_keys()
    schema |= _deployments_of(schema["properties"]["deployments"])
    schema["title"] = "specfleet scenario file"
    schema["description"] = "A workload, a latency target and the deployments to compare under the same random streams."
    return {"$schema": DIALECT, **schema}


def _deployments_of(named: dict[str, Any]) -> dict[str, Any]:
    """Rules for the deployments: whole ones in a scenario; in a plan what is varied and the replicas may be left out.

    named: the schema of the mapping of deployments, which loses its rules.
    """
    (pattern,) = named.pop("patternProperties")
    strict = {"type": named["type"], "additionalProperties": named.pop("additionalProperties")}
    override, whole = {"$ref": f"{_REF}DeploymentOverride"}, {"$ref": f"{_REF}Deployment"}
    either = {"if": {"type": "object", "required": ["extends"]}, "then": override, "else": whole}
    return {
        "if": {"required": ["plan"]},
        "then": {"properties": {"deployments": {**strict, "patternProperties": {pattern: override}}}},
        "else": {"properties": {"deployments": {**strict, "patternProperties": {pattern: either}}}},
    }


def _file_keys() -> dict[str, Any]:
    return {
        "plan": {
            "$ref": f"{_REF}Plan",
            "description": "What `specfleet plan` is asked; the deployments are then its offers.",
        },
        "sweep": {
            "type": "object",
            "description": "Grid: dotted path of a place in this file → values that it takes.",
            "additionalProperties": {"type": "array", "minItems": 1},
        },
        "assert": {
            "type": "array",
            "description": "Comparisons that must hold, such as `h200.tpot_s.p95 <= 0.04`; else the exit code is 4.",
            "items": {"type": "string", "maxLength": 500},
        },
    }


def _closed(body: Any) -> Any:
    """A schema in which a name that breaks the rule for names is refused."""
    if isinstance(body, list):
        return [_closed(item) for item in body]
    if not isinstance(body, dict):
        return body
    strict = {"additionalProperties": False} if "patternProperties" in body else {}
    return {key: _closed(value) for key, value in body.items()} | strict


def _optional(body: Any) -> Any:
    """A definition in which nothing is required and everything below is optional, too."""
    if isinstance(body, list):
        return [_optional(item) for item in body]
    if not isinstance(body, dict):
        return body
    changed: dict[str, Any] = {}
    for key, value in body.items():
        if key in ("required", "discriminator", "default"):
            continue
        if key == "$ref":
            changed[key] = f"{value}Override"
        else:
            changed["anyOf" if key == "oneOf" else key] = _named(value) if key == "properties" else _optional(value)
    return changed


def _named(properties: dict[str, Any]) -> dict[str, Any]:
    """Properties by name: a name is never taken for a keyword."""
    return {name: _optional(body) for name, body in properties.items()}


def _reachable(definitions: dict[str, Any], start: str) -> dict[str, Any]:
    """The definitions that one needs, itself included."""
    found: dict[str, Any] = {}
    todo = [start]
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = definitions[name]
            todo += _references(definitions[name])
    return {name: found[name] for name in sorted(found)}


def _references(body: Any) -> list[str]:
    if isinstance(body, list):
        return [name for item in body for name in _references(item)]
    if not isinstance(body, dict):
        return []
    own = [body["$ref"].removeprefix(_REF)] if isinstance(body.get("$ref"), str) else []
    return own + [name for value in body.values() for name in _references(value)]


def schema_text() -> str:
    """The schema as it is committed: JSON, indented."""
    return json.dumps(scenario_json_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
