"""Acceptance request by request: responses of vLLM, SGLang, TensorRT-LLM, AIPerf records, and iterations of TRT-LLM."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from calibration.importers.fields import Record, agree, count, first, histogram, no_more_than_drafted, number, whole
from calibration.importers.finding import AcceptanceFinding, RequestCounts, from_counts, from_rate
from calibration.importers.options import ReadOptions
from simulator.errors import ScenarioError

STEPS = ("num_spec_steps", "spec_verify_ct")
ACCEPTED = ("num_accepted_draft_tokens", "spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
DRAFTED = ("num_draft_tokens", "spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
HISTOGRAMS = ("acceptance_histogram", "spec_correct_drafts_histogram", "spec_accept_histogram")
LENGTHS = ("mean_acceptance_length", "spec_accept_length")
RATES = ("draft_acceptance_rate", "spec_accept_rate")
"""Names of one thing, newest first, over engines and their versions."""


def statistics_of(record: Any) -> Iterator[tuple[str, Record]]:
    """Engine and statistics of each speculating request that a record holds."""
    if not isinstance(record, dict):
        return
    metrics = record.get("metrics")
    if isinstance(metrics, dict) and isinstance(metrics.get("speculative_decoding"), dict):
        yield "vllm", metrics["speculative_decoding"]
    for name in ("spec_decode_acceptance", "speculative_decoding"):
        if isinstance(record.get(name), dict):
            yield str(record[name].get("engine") or "unknown"), record[name]
    places = [record, *(choice for choice in record.get("choices") or [] if isinstance(choice, dict))]
    for place in places:
        meta = place.get("meta_info")
        if isinstance(meta, dict) and any(name in meta for name in (*HISTOGRAMS, *STEPS)):
            yield "sglang", meta
        elif "acceptance_histogram" in place:
            yield str(place.get("engine") or "trtllm"), place


def is_records(document: Any) -> bool:
    """Whether a document is responses, or records of requests."""
    listed = document if isinstance(document, list) else [document]
    return any(statistics for record in listed for statistics in statistics_of(record))


def read_records(document: Any, where: str, options: ReadOptions) -> AcceptanceFinding:
    """Acceptance of all requests that speculated; those without statistics are told."""
    listed: Sequence[Any] = document if isinstance(document, list) else [document]
    counts, engines, widest = [], set(), 0
    for index, record in enumerate(listed):
        for engine, statistics in statistics_of(record):
            place = f"{where}: record {index + 1}: "
            engines.add(engine)
            counts.append(_request(statistics, place))
            widest = max(widest, count(statistics, "num_spec_tokens", place) or 0)
    if len(engines) > 1:
        raise ScenarioError(f"{where}: requests of several engines ({', '.join(sorted(engines))}): give one file each")
    found = from_counts(
        "per-request", engines.pop(), [c for c in counts if c.accepted], options.draft_tokens or widest or None
    )
    left_out = len(listed) - len(counts)
    return found.with_notes(f"{left_out:,} records without statistics are left out") if left_out > 0 else found


def _request(statistics: Record, place: str) -> RequestCounts:
    name = next((n for n in HISTOGRAMS if statistics.get(n) is not None), None)
    steps, accepted, drafted = (first(statistics, names, place) for names in (STEPS, ACCEPTED, DRAFTED))
    if name is None:
        if steps == 0:
            return RequestCounts({})
        raise ScenarioError(f"{place}no histogram of accepted tokens ({', '.join(HISTOGRAMS)})")
    counts = histogram(statistics[name], f"{place}{name}") or {0: 0}
    total, kept = sum(counts.values()), sum(j * n for j, n in counts.items())
    _same(steps, total, f"{place}{name} counts {total:,} steps, but the steps are {{:,}}")
    _same(accepted, kept, f"{place}{name} counts {kept:,} accepted tokens, but the accepted tokens are {{:,}}")
    if drafted is not None:
        no_more_than_drafted(kept, drafted, place)
    _means(statistics, total, kept, drafted, place)
    return RequestCounts(counts if total else {}, _drafts(statistics, counts, place), drafted)


def _same(stated: int | None, counted: int, text: str) -> None:
    if stated is not None and stated != counted:
        raise ScenarioError(text.format(stated))


def _means(statistics: Record, steps: int, accepted: int, drafted: int | None, place: str) -> None:
    """Means that stand beside the counts agree with them: lengths count the bonus token, rates are fractions."""
    for name in LENGTHS:
        length = number(statistics, name, place)
        if length is not None and steps:
            agree(length, 1.0 + accepted / steps, name, place)
    for name in RATES:
        rate = number(statistics, name, place)
        if rate is not None and drafted:
            agree(rate, accepted / drafted, name, place)


def _drafts(statistics: Record, accepted: dict[int, int], place: str) -> dict[int, int] | None:
    """Histogram of drafted tokens, from `per_step_drafted`; checked against the accepted ones step by step."""
    drafted, kept = statistics.get("per_step_drafted"), statistics.get("per_step_accepted")
    if not isinstance(drafted, list):
        return None
    if isinstance(kept, list):
        if len(kept) != len(drafted):
            raise ScenarioError(f"{place}per_step_accepted has {len(kept)} steps, per_step_drafted {len(drafted)}")
        for step, (few, many) in enumerate(zip(kept, drafted, strict=True)):
            no_more_than_drafted(few, many, f"{place}step {step + 1}: ")
    if len(drafted) != sum(accepted.values()):
        raise ScenarioError(f"{place}per_step_drafted has {len(drafted)} steps, the histogram {sum(accepted.values())}")
    return dict(Counter(drafted))


# Iterations of TensorRT-LLM (GET /metrics of its server, or LLM.get_stats): counts, no histogram.


def is_iterations(document: Any) -> bool:
    """Whether a document is TensorRT-LLM's statistics by iteration."""
    return isinstance(document, list) and any(isinstance(i, dict) and "specDecodingStats" in i for i in document)


def read_iterations(document: Any, where: str, options: ReadOptions) -> AcceptanceFinding:
    """Sums over iterations: a request with draft tokens in one is one verify step."""
    totals: Counter[str] = Counter()
    for index, iteration in enumerate(document):
        statistics = iteration.get("specDecodingStats") or {}
        place = f"{where}: iteration {index + 1}: "
        for name in ("numDraftTokens", "numAcceptedTokens", "numRequestsWithDraftTokens"):
            totals[name] += count(statistics, name, place) or 0
    drafted, accepted, steps = (
        totals[n] for n in ("numDraftTokens", "numAcceptedTokens", "numRequestsWithDraftTokens")
    )
    if not steps or not drafted:
        raise ScenarioError(f"{where}: no iteration verified draft tokens: nothing was drafted in this time")
    no_more_than_drafted(accepted, drafted, f"{where}: ")
    return from_rate("trtllm-iterations", "trtllm", accepted, drafted, _k(drafted, steps, options.draft_tokens, where))


def _k(drafted: int, steps: int, stated: int | None, where: str) -> int:
    each = whole(drafted, steps)
    if each is not None and stated in (None, each):
        return each
    raise ScenarioError(
        f"{where}: {drafted:,} draft tokens in {steps:,} steps are {drafted / steps:.3g} a step, "
        + (f"not the {stated} of --draft-tokens" if stated else "no whole number: the draft length varies")
        + ", and without a histogram nothing says how acceptance depends on it"
    )
