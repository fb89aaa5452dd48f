"""Acceptance in the result files of benchmarks: vLLM `bench serve`, AIPerf, GuideLLM."""

from itertools import pairwise
from typing import Any

from calibration.importers.fields import Record, agree, count, histogram, number, rate_in_percent, whole
from calibration.importers.finding import AcceptanceFinding, RequestCounts, from_counts, from_mean, from_rate
from calibration.importers.options import ReadOptions
from simulator.errors import ScenarioError

NOT_SPECULATING = "this run did not speculate: nothing of acceptance in it (absent, which is not 0)"


def is_vllm_bench(document: Any) -> bool:
    """Whether a document is one run of vLLM's `bench serve`, or a list of them (a sweep's summary)."""
    one = document[0] if isinstance(document, list) and document else document
    return isinstance(one, dict) and {"completed", "total_output_tokens", "output_throughput"} <= one.keys()


def read_vllm_bench(document: Any, where: str, options: ReadOptions) -> AcceptanceFinding:
    """`spec_decode_…`: rate in percent, length with the bonus token, shares by position as survival."""
    run = one_run(document, where)
    if not any(name.startswith("spec_decode_") and run[name] is not None for name in run):
        raise ScenarioError(f"{where}: {NOT_SPECULATING}")
    drafts, drafted, accepted = (
        count(run, f"spec_decode_{name}", f"{where}: ") for name in ("num_drafts", "draft_tokens", "accepted_tokens")
    )
    length = number(run, "spec_decode_acceptance_length", f"{where}: ")
    rate = number(run, "spec_decode_acceptance_rate", f"{where}: ", high=100.0)
    shares = run.get("spec_decode_per_position_acceptance_rates")
    if length is not None and length < 1:
        raise ScenarioError(
            f"{where}: spec_decode_acceptance_length {length:g} is below 1: is the bonus token left out? vLLM counts it"
        )
    if drafted and accepted is not None:
        rate_in_percent(rate, accepted / drafted, "spec_decode_acceptance_rate", f"{where}: ")
    if drafts and accepted is not None:
        agree(length, 1.0 + accepted / drafts, "spec_decode_acceptance_length", f"{where}: ")
    if drafts and shares:
        return _by_position(drafts, drafted, _survival(shares, f"{where}: "), accepted, where)
    if drafts and drafted and accepted is not None:
        return from_rate("vllm-bench", "vllm", accepted, drafted, options.draft_tokens or whole(drafted, drafts))
    if length is not None:
        return from_mean("vllm-bench", "vllm", length, options.draft_tokens)
    raise ScenarioError(_rate_alone(rate, where))


def _rate_alone(rate: float | None, where: str) -> str:
    if rate is None:
        return f"{where}: no spec_decode_ figure that says how many tokens a step commits"
    if rate <= 1:
        return (
            f"{where}: spec_decode_acceptance_rate {rate:g} could be {rate:g} % or a fraction ({rate:.0%}), and no "
            "count beside it tells: save the result with its spec_decode_num_drafts and accepted_tokens"
        )
    return (
        f"{where}: spec_decode_acceptance_rate {rate:g} % alone does not say how many tokens a step commits: save the "
        "result with its spec_decode_acceptance_length"
    )


def one_run(document: Any, where: str) -> Record:
    """The only run of a file."""
    if isinstance(document, dict):
        return document
    if len(document) != 1:
        raise ScenarioError(f"{where}: {len(document)} runs, of which each has its own acceptance: give one run a file")
    run: Record = document[0]
    return run


def _survival(shares: Any, where: str) -> list[float]:
    name = "spec_decode_per_position_acceptance_rates"
    if not isinstance(shares, list):
        raise ScenarioError(f"{where}{name}: {shares!r} is not a list")
    found = [number({name: share}, name, where, high=1.0) or 0.0 for share in shares]
    for position, (before, now) in enumerate(pairwise(found)):
        if now > before:
            raise ScenarioError(
                f"{where}{name} rises from {before:g} to {now:g} at position {position + 1}: survival never does, so "
                "these are conditional rates; vLLM writes the share of drafts whose position was accepted"
            )
    return found


def _by_position(
    drafts: int, drafted: int | None, survival: list[float], accepted: int | None, where: str
) -> AcceptanceFinding:
    """Counts again from shares of drafts."""
    ladder = [drafts, *(round(share * drafts) for share in survival), 0]
    if accepted is not None:
        agree(float(sum(ladder[1:])), float(accepted), "the sum over positions of accepted tokens", f"{where}: ")
    counted = {j: ladder[j] - ladder[j + 1] for j in range(len(survival) + 1)}
    one = RequestCounts(counted, drafted_tokens=drafted)
    return from_counts("vllm-bench", "vllm", [one], len(survival), pooled=True).with_notes(
        "steps without a proposal are not counted: for a look-up import the server's /metrics with --lookup"
    )


def is_aiperf(document: Any) -> bool:
    """Whether a document is AIPerf's aggregate export."""
    return isinstance(document, dict) and "aiperf_version" in document and "input_config" in document


def read_aiperf(document: Any, where: str, options: ReadOptions) -> AcceptanceFinding:
    """The pooled histogram, where the engine reports requests one by one; else totals."""
    complete(document, where)
    pooled = histogram(document.get("pooled_spec_decode_acceptance_histogram"), f"{where}: pooled histogram")
    steps, accepted, drafted = (
        _total(document, name, where)
        for name in ("total_spec_decode_steps", "total_accepted_draft_tokens", "total_draft_tokens")
    )
    rate = metric(document, "spec_decode_overall_draft_acceptance_rate", where, unit="%")
    if accepted is not None and drafted:
        rate_in_percent(rate, accepted / drafted, "spec_decode_overall_draft_acceptance_rate", f"{where}: ")
    if pooled is not None:
        return _pooled(document, pooled, (steps, accepted, drafted), where, options)
    if steps and accepted is not None and drafted:
        return from_rate("aiperf", "unknown", accepted, drafted, options.draft_tokens or whole(drafted, steps))
    weighted = metric(document, "spec_decode_token_weighted_acceptance_length", where)
    length = metric(document, "spec_decode_acceptance_length", where)
    if weighted is None and length is None:
        raise ScenarioError(f"{where}: {NOT_SPECULATING}")
    over = "requests" if weighted is None else "steps"
    return from_mean("aiperf", "unknown", weighted or length or 0.0, options.draft_tokens, over)


def _pooled(
    document: Record, pooled: dict[int, int], totals: tuple[int | None, int | None, int | None], where: str,
    options: ReadOptions,
) -> AcceptanceFinding:  # fmt: skip
    steps, accepted, drafted = totals
    counted = sum(pooled.values()), sum(j * n for j, n in pooled.items())
    for stated, found_here, what in ((steps, counted[0], "steps"), (accepted, counted[1], "accepted tokens")):
        if stated is not None and stated != found_here:
            raise ScenarioError(f"{where}: the pooled histogram counts {found_here:,} {what}, the totals {stated:,}")
    found = from_counts(
        "aiperf", "unknown", [RequestCounts(pooled, drafted_tokens=drafted)], options.draft_tokens, pooled=True
    )
    return found.with_notes("pooled over requests: profile_export.jsonl has them one by one, with their spread")


def complete(document: Record, where: str) -> None:
    """Refuse a run that did not end."""
    if document.get("is_complete") is False:
        reason = document.get("incomplete_reason") or "no reason is given"
        raise ScenarioError(f"{where}: is_complete is false ({reason}): an unfinished run is no measurement")


def metric(document: Record, name: str, where: str, unit: str | None = None) -> float | None:
    """The mean of one of AIPerf's metrics, in the unit that it must have."""
    entry = document.get(name)
    if not isinstance(entry, dict):
        return None
    if unit is not None and entry.get("unit") != unit:
        raise ScenarioError(f"{where}: {name} is in {entry.get('unit')!r}, where {unit!r} is expected")
    return number(entry, "avg", f"{where}: {name}.")


def _total(document: Record, name: str, where: str) -> int | None:
    value = metric(document, name, where)
    return None if value is None else round(value)


def is_guidellm(document: Any) -> bool:
    """Whether a document is a GuideLLM report."""
    benchmarks = document.get("benchmarks") if isinstance(document, dict) else None
    return isinstance(benchmarks, list) and bool(benchmarks) and all("metrics" in one for one in benchmarks)


def read_guidellm(document: Any, where: str, options: ReadOptions) -> AcceptanceFinding:
    """GuideLLM does not measure acceptance."""
    raise ScenarioError(
        f"{where}: a GuideLLM report holds no acceptance (output_tokens_per_iteration counts what a client received at "
        "once): import the server's /metrics instead"
    )
