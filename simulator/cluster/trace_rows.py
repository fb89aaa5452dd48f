"""Rows of trace files in the formats that people have, checked one by one; what a file is, its first line says."""

import json
import math
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import Any

MOST_TOKENS = 10**9
"""Tokens of a prompt or an output beyond which a row is taken for a mistake."""

SHOWN = 80
"""Characters of a wrong row that a message shows."""


class RowError(ValueError):
    """What is wrong with a row, and the way out; the reader adds the place."""


@dataclass(slots=True)
class Columns:
    """Rows read so far."""

    time_s: "array[float]" = field(default_factory=lambda: array("d"))
    prompt_tokens: "array[int]" = field(default_factory=lambda: array("q"))
    output_tokens: "array[int]" = field(default_factory=lambda: array("q"))
    class_code: "array[int]" = field(default_factory=lambda: array("q"))
    class_lines: dict[str, int] = field(default_factory=dict)
    """Class → line where it was first met, in that order."""
    class_codes: dict[str, int] = field(default_factory=dict)
    """Class → its place in that order; a row without a class has the code -1."""
    priority: "array[int]" = field(default_factory=lambda: array("q"))
    session: "array[int]" = field(default_factory=lambda: array("q"))
    """Number of the session; -1 without one."""
    sessions: dict[str | int, int] = field(default_factory=dict)
    block_ids: "array[int]" = field(default_factory=lambda: array("q"))
    block_counts: "array[int]" = field(default_factory=lambda: array("q"))
    block_tokens: int = 0
    skipped: int = 0
    """Rows that are requests without an answer."""
    origin: Any = None
    """Where a format's times count from, once it is known."""

    def request(self, time_s: float, prompt: int, output: int) -> None:
        """Take over what every request has."""
        for name, tokens in (("prompt", prompt), ("output", output)):
            if not 1 <= tokens <= MOST_TOKENS:
                raise RowError(f"{tokens} {name} tokens: token counts must be at least 1 and at most 10^9")
        if not math.isfinite(time_s):
            raise RowError(f"time {time_s}: a finite number of seconds is needed")
        self.time_s.append(time_s)
        self.prompt_tokens.append(prompt)
        self.output_tokens.append(output)

    def labels(self, name: str | None, line: int, session: str | int | None = None, priority: int = 0) -> None:
        """Take over what some requests have."""
        if name is not None:
            self.class_lines.setdefault(name, line)
        self.class_code.append(-1 if name is None else self.class_codes.setdefault(name, len(self.class_codes)))
        self.session.append(-1 if session is None else self.sessions.setdefault(session, len(self.sessions)))
        self.priority.append(priority)

    def blocks(self, ids: list[int], prompt: int, block_tokens: int) -> None:
        """Take over the ids of a prompt's blocks."""
        if self.block_tokens and block_tokens != self.block_tokens:
            raise RowError(f"blocks of {block_tokens} tokens after blocks of {self.block_tokens}: one size a file")
        most = -(-prompt // block_tokens)
        if len(ids) > most:
            raise RowError(
                f"{len(ids)} block ids, but {prompt} prompt tokens fill {most} blocks of {block_tokens}: "
                "drop the ids beyond, or state the right block size"
            )
        before = len(self.block_ids)
        try:
            self.block_ids.extend(ids)
        except (TypeError, OverflowError):
            del self.block_ids[before:]
            raise RowError("block ids must be a list of whole numbers below 2^63") from None
        self.block_tokens = block_tokens
        self.block_counts.append(len(ids))


def _integer(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise RowError(f"{name} is {text[:SHOWN]!r}: a whole number is needed") from None


def azure(row: dict[str, str], line: int, columns: Columns) -> None:
    """Azure LLM inference traces of 2023 and 2024: UTC times with 7 digits of a second."""
    stamp = row["TIMESTAMP"].removesuffix("+00:00").removesuffix("Z")
    whole, dot, ticks = stamp.partition(".")
    try:
        moment = datetime.fromisoformat(whole)
        part = float(f"0.{ticks}") if dot and ticks.isdecimal() else 0.0
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is not None or (dot and not ticks.isdecimal()):
        raise RowError(
            f"TIMESTAMP is {row['TIMESTAMP'][:SHOWN]!r}: a time such as 2023-11-16 18:17:03.9799600 is needed"
        )
    columns.origin = columns.origin or moment
    since = moment - columns.origin
    prompt, output = (_integer(name, row[name]) for name in ("ContextTokens", "GeneratedTokens"))
    columns.request(since.days * 86400 + since.seconds + part, prompt, output)


def burstgpt(row: dict[str, str], line: int, columns: Columns) -> None:
    """BurstGPT: seconds, model, tokens and log type; a request without response tokens has failed and is left out."""
    try:
        time_s = float(row["Timestamp"])
    except ValueError:
        raise RowError(f"Timestamp is {row['Timestamp'][:SHOWN]!r}: a number of seconds is needed") from None
    prompt, output = (_integer(name, row[name]) for name in ("Request tokens", "Response tokens"))
    if output == 0:
        columns.skipped += 1
        return
    columns.request(time_s, prompt, output)
    kind = row.get("Log Type", "").lower().removesuffix("log").strip().replace(" ", "-")
    columns.labels(kind or None, line, row.get("Session ID") or None)


def _number(row: dict[str, Any], key: str) -> float:
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RowError(f"{key} is {json.dumps(value)[:SHOWN]}: a number is needed")
    return float(value)


def _whole(row: dict[str, Any], key: str) -> int:
    value = row[key]
    if type(value) is not int:
        raise RowError(f"{key} is {json.dumps(value)[:SHOWN]}: a whole number is needed")
    return value


def _label(row: dict[str, Any], key: str, kinds: tuple[type, ...]) -> Any:
    value = row.get(key)
    if value is not None and type(value) not in kinds:
        raise RowError(f"{key} is {json.dumps(value)[:SHOWN]}: {' or '.join(_SAID[k] for k in kinds)} is needed")
    return value


_SAID = {str: "a text", int: "a whole number", list: "a list"}


def mooncake(row: dict[str, Any], line: int, columns: Columns) -> None:
    """Mooncake: milliseconds, lengths, and ids of 512-token blocks, each standing for all before it, too."""
    prompt = _whole(row, "input_length")
    columns.request(_number(row, "timestamp") / 1e3, prompt, _whole(row, "output_length"))
    columns.labels(None, line, _label(row, "session_id", (str, int)))
    columns.blocks(_label(row, "hash_ids", (list,)) or [], prompt, 512)


PLAIN_KEYS = ("arrival_s", "prompt_tokens", "output_tokens", "class", "priority", "session", "blocks", "block_tokens")
"""Keys of a row of our own; the first three are needed."""


def plain(row: dict[str, Any], line: int, columns: Columns) -> None:
    """Our own format: seconds and tokens, and what else there is to say of a request."""
    for key in row.keys() - set(PLAIN_KEYS):
        close = get_close_matches(key, PLAIN_KEYS, n=1, cutoff=0.5)
        raise RowError(
            f"unknown key {key!r}; {f'nearest: {close[0]}; ' if close else ''}known: {', '.join(PLAIN_KEYS)}"
        )
    prompt = _whole(row, "prompt_tokens")
    columns.request(_number(row, "arrival_s"), prompt, _whole(row, "output_tokens"))
    name, session = _label(row, "class", (str,)), _label(row, "session", (str, int))
    columns.labels(name, line, session, _label(row, "priority", (int,)) or 0)
    ids = _label(row, "blocks", (list,)) or []
    if ids and (_label(row, "block_tokens", (int,)) or 0) < 1:
        raise RowError("blocks without their size: add block_tokens, the prompt tokens of each block, to the row")
    columns.blocks(ids, prompt, row["block_tokens"] if ids else columns.block_tokens or 1)
    columns.block_tokens = columns.block_tokens if ids or len(columns.block_ids) else 0


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of trace file."""

    title: str
    needed: tuple[str, ...]
    """Columns of its header, or keys of its rows, by which it is known."""
    take: Callable[[dict[str, Any], int, Columns], None]
    """(row, line, columns): check a row and add it to the columns."""


CSV_FORMATS: dict[str, Format] = {
    "azure": Format("Azure LLM inference trace", ("TIMESTAMP", "ContextTokens", "GeneratedTokens"), azure),
    "burstgpt": Format("BurstGPT trace", ("Timestamp", "Request tokens", "Response tokens"), burstgpt),
}
JSONL_FORMATS: dict[str, Format] = {
    "mooncake": Format("Mooncake trace", ("timestamp", "input_length", "output_length"), mooncake),
    "plain": Format("specfleet trace", ("arrival_s", "prompt_tokens", "output_tokens"), plain),
}


def format_of(found: list[str], formats: dict[str, Format]) -> str | None:
    """The format whose columns or keys are all there."""
    return next((name for name, form in formats.items() if set(form.needed) <= set(found)), None)


def known_formats() -> Iterator[str]:
    """What each format is known by, for messages."""
    for form in CSV_FORMATS.values():
        yield f"CSV with {', '.join(form.needed)} ({form.title})"
    for form in JSONL_FORMATS.values():
        yield f"JSON lines with {', '.join(form.needed)} ({form.title})"
