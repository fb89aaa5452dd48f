"""A scenario file from a fitted workload: the workload, and the starter's first deployment to run it on."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from scenarios.files import read_starter

ROUND_TOKENS = 1024
"""The longest sequence is rounded up to a multiple of this."""


class _Compact(yaml.SafeDumper):
    """Lists and small mappings on one line, and no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def workload_text(workload: Mapping[str, Any]) -> str:
    """The workload as YAML, as it stands in a scenario file."""
    return _yaml({"workload": dict(workload)})


def scenario_text(workload: Mapping[str, Any], name: str, notes: Sequence[str], longest_tokens: int) -> str:
    """A whole scenario file that offers the workload to one deployment.

    notes: said in comments at the top. longest_tokens: the longest prompt and output, which must fit.
    """
    starter = yaml.safe_load(read_starter())
    first, deployment = next(iter(starter["deployments"].items()))
    longest = -(-longest_tokens // ROUND_TOKENS) * ROUND_TOKENS
    deployment["engine"]["max_model_len"] = max(longest, deployment["engine"]["max_model_len"])
    if "prefix" in workload:
        deployment["engine"]["prefix_cache"] = True
    document = {
        "schema_version": 1,
        "name": name,
        "description": "A workload fitted to a trace; put your own deployments below it.",
        "seed": 1,
        "replications": 3,
        "workload": dict(workload),
        "deployments": {first: deployment},
    }
    return "".join(f"# {note}\n" for note in notes) + _yaml(document)


def _yaml(document: Mapping[str, Any]) -> str:
    return str(
        yaml.dump(document, Dumper=_Compact, sort_keys=False, allow_unicode=True, width=118, default_flow_style=None)
    )
