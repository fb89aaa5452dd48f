"""Which steps are measured: a grid over sequences, verified tokens, context and prompts, and held-out steps."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

USUAL_CONTEXT = 256
"""Context of most points [tokens]."""
SEQUENCES = (1, 2, 4, 8, 16)
"""Decoding sequences of a step."""
DRAFT_TOKENS = (1, 2, 3, 5, 8)
"""K of the engine with its draft."""
DRAFT_PROMPTS = (16, 64, 256, 512)
QUICK_PROMPTS = (1, 16, 32, 64, 128, 256, 512)
PROMPTS = (1, 8, 16, 32, 64, 128, 192, 256, 384, 512)
"""Prompts that come alone [tokens]: with the draft, in a quick run, in a full one."""


class Point(NamedTuple):
    """A kind of step: decoding sequences, and prompts that come into the same step."""

    drafted: bool
    """Whether the engine has its draft; only with one are draft tokens verified."""
    sequences: int = 0
    draft_tokens: int = 0
    context: int = USUAL_CONTEXT
    """Context of each decoding sequence [tokens]."""
    prompts: int = 0
    prompt_tokens: int = 0
    held_out: bool = False
    """Kept from the fit, to judge it."""

    @property
    def key(self) -> str:
        """Name of the point in a file of measurements."""
        draft = "draft" if self.drafted else "plain"
        kept = "-held" if self.held_out else ""
        decode = f"{self.sequences}x{self.draft_tokens + 1}@{self.context}"
        return f"{draft}-{decode}+{self.prompts}x{self.prompt_tokens}{kept}"

    @property
    def rows(self) -> int:
        """Rows of the step [tokens]."""
        return self.sequences * (self.draft_tokens + 1) + self.prompts * self.prompt_tokens


class Bounds(NamedTuple):
    """What the engine takes."""

    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    cache_tokens: int
    """Positions that its cache holds."""
    most_drafted: int = DRAFT_TOKENS[-1]
    """Draft tokens of a sequence, at most: nodes of a tree, or those of all drafts of a union."""


def points(drafted: bool, bounds: Bounds, *, quick: bool) -> list[Point]:
    """Points of an engine with or without its draft, as far as it can run them."""
    found = [*_grid(drafted, quick, bounds.most_drafted), *_held_out(drafted)]
    return [p for p in dict.fromkeys(_shrunk(found, bounds)) if _runs(p, bounds)]


def reference_points(drafted: bool, bounds: Bounds) -> list[Point]:
    """Points that are measured again and again, to see whether the machine is the same throughout."""
    found = [Point(drafted, 1), Point(drafted, 4, 3 if drafted else 0), Point(drafted, prompts=1, prompt_tokens=64)]
    return [p for p in _shrunk(found, bounds) if _runs(p, bounds)]


def pace_points(bounds: Bounds) -> list[Point]:
    """Points that are measured beside a serving run, to see how fast the machine is just then; a full batch as well."""
    return [*reference_points(False, bounds), *(p for p in _shrunk([Point(False, 16)], bounds) if _runs(p, bounds))]


def _grid(drafted: bool, quick: bool, most_drafted: int) -> Iterator[Point]:
    counts = (*DRAFT_TOKENS, most_drafted) if drafted else (0,)
    yield from (Point(drafted, n, k) for n in SEQUENCES for k in counts)
    few = (1, 4, 16) if quick else SEQUENCES
    for n in few:
        longest = min(1000, 7400 // n - 20)
        for context in (32, longest) if quick else (32, 512, longest):
            yield from (Point(drafted, n, k, context) for k in ((3, 8) if drafted else counts))
    sizes = DRAFT_PROMPTS if drafted else QUICK_PROMPTS if quick else PROMPTS
    yield from (Point(drafted, prompts=1, prompt_tokens=size) for size in sizes)
    if not drafted:
        yield from (Point(drafted, prompts=n, prompt_tokens=size) for n, size in ((4, 16), (4, 100), (2, 200)))
        yield Point(drafted, prompts=1, prompt_tokens=1000)
    mixed = ((1, 480), (4, 128), (8, 32), (16, 256))
    yield from (Point(drafted, n, 3 if drafted else 0, USUAL_CONTEXT, 1, size) for n, size in mixed)


def _held_out(drafted: bool) -> Iterator[Point]:
    steps: Iterable[tuple[int, int, int, int, int]] = (
        ((3, 4, 400, 0, 0), (6, 2, 300, 0, 0), (12, 3, 200, 0, 0), (1, 7, 700, 0, 0), (10, 1, 100, 0, 0),
         (5, 4, 150, 1, 90), (3, 3, 350, 1, 300))
        if drafted
        else ((3, 0, 400, 0, 0), (6, 0, 300, 0, 0), (12, 0, 200, 0, 0), (1, 0, 700, 0, 0), (0, 0, 256, 1, 100),
              (0, 0, 256, 1, 300), (0, 0, 256, 3, 50), (5, 0, 150, 1, 90), (12, 0, 350, 1, 200))
    )  # fmt: skip
    yield from (Point(drafted, n, k, context, count, size, True) for n, k, context, count, size in steps)


def _shrunk(found: Iterable[Point], bounds: Bounds) -> Iterator[Point]:
    """Points whose context and prompts a sequence of the engine can have, and whose draft tokens its draft proposes."""
    for point in found:
        longest = bounds.max_model_len - 40
        context, prompt = min(point.context, longest), min(point.prompt_tokens, longest)
        drafted = min(point.draft_tokens, bounds.most_drafted)
        yield point._replace(context=context, prompt_tokens=prompt, draft_tokens=drafted)


def _runs(point: Point, bounds: Bounds) -> bool:
    held = point.sequences * (point.context + 48) + point.prompts * (point.prompt_tokens + 16)
    places = point.sequences + point.prompts
    rows = point.sequences * (point.draft_tokens + 1) + point.prompts * (point.draft_tokens + 1)
    return held <= bounds.cache_tokens and places <= bounds.max_num_seqs and rows <= bounds.max_num_batched_tokens
