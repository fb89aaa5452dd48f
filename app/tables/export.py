"""An exported deployment on the screen: what its engine cannot be told, the draft tokens by batch, advice, files."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from app.format import plural
from app.tables.draft_schedule import LEGEND, schedule_table
from app.tables.economics import Line, economics_lines

if TYPE_CHECKING:
    from rich.console import RenderableType

TITLES = {"vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM"}


def heading(found: Mapping[str, Any]) -> str:
    """Which deployment it is, and what it runs on; found: `Exported.as_json`, and what became of its files."""
    replicas = plural(found["replicas"], "replica")
    return f"{found['deployment']} — {TITLES[found['engine']]}, {replicas} of {found['gpus']} × {found['gpu']}"


def export_blocks(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """All that is shown below the command."""
    from rich.text import Text

    if found["draft_schedule"]["why_not"] is None:
        yield Text()
        yield schedule_table(found["draft_schedule"])
        yield Text(LEGEND, style="dim")
    yield Text()
    yield from _block(said(found))


def price_lines(found: Mapping[str, Any]) -> "Iterator[RenderableType]":
    """What is said of all deployments together."""
    ties: list[Line] = [("Price ratio", tie["sentence"], "") for tie in found["price_ties"]]
    yield from _block([*ties, *economics_lines(found["economics"])])


def _block(lines: Iterable[Line]) -> "Iterator[RenderableType]":
    """Labelled sentences, where there are any."""
    from app.tables.verdict import block

    told = block(lines)
    if told.row_count:
        yield told


def said(found: Mapping[str, Any]) -> Iterator[Line]:
    """What is said of a deployment."""
    schedule, placement = found["draft_schedule"], found["placement"]
    for text in found["left_out"]:
        yield "Not exported", text, "yellow"
    if schedule["why_not"] is None:
        yield "Draft tokens", schedule["says"], ""
    if found["draft_schedule_for_engine"] is not None:
        yield f"For {TITLES[found['engine']]}", json.dumps(found["draft_schedule_for_engine"]), ""
    if placement is not None:
        yield "Placement", placement["sentence"].partition(": ")[2], ""
    for text in found["notes"]:
        yield "Note", text, ""
    if found["why_no_bench"]:
        yield "No benchmark", found["why_no_bench"], "yellow"
    for path in found["written"]:
        yield "Written", path, ""
