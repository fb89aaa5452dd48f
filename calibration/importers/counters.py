"""Counters of engines, from Prometheus text: vLLM (and who copies its names), TensorRT-LLM, SGLang."""

from collections.abc import Callable

from calibration.importers.exposition import Scrape, chosen
from calibration.importers.fields import agree, no_more_than_drafted, whole
from calibration.importers.finding import AcceptanceFinding, RequestCounts, from_counts, from_mean, from_rate
from calibration.importers.options import ReadOptions
from simulator.errors import ScenarioError

LIFETIME = (
    "counts since the server's start, warm-up and other traffic included: a second scrape gives what lies between"
)
FEW_LEFT_OUT = 0.01
"""Share of a look-up's steps without a proposal below which they are not worth a word."""


def read_scrape(scrape: Scrape, where: str, options: ReadOptions) -> AcceptanceFinding:
    """What the counters of one engine say."""
    for ending, read in ENGINES.items():
        if scrape.names(ending):
            one = chosen(scrape, ending, options.labels, add=options.add_engines, where=where)
            found = read(one, where, options)
            return found.with_notes(LIFETIME) if one.lifetime and read is not _sglang else found
    raise ScenarioError(
        f"{where}: no counters of speculative decoding (vllm:spec_decode_…, trtllm_spec_decode_…, "
        "sglang:spec_accept_…): the server did not speculate, which is not the same as accepting nothing"
    )


def _vllm(scrape: Scrape, where: str, options: ReadOptions) -> AcceptanceFinding:
    """Drafts, draft tokens and accepted tokens; by position how often it was accepted (survival, not conditional)."""
    prefix = scrape.names("spec_decode_num_drafts")[0].removesuffix("num_drafts")
    drafts, drafted, accepted = (
        _whole(scrape, f"{prefix}{name}", where) for name in ("num_drafts", "num_draft_tokens", "num_accepted_tokens")
    )
    if drafts == 0:
        raise ScenarioError(f"{where}: {prefix}num_drafts is 0: nothing was drafted in this time")
    no_more_than_drafted(accepted, drafted, f"{where}: ")
    by_position = scrape.by_label(f"{prefix}num_accepted_tokens_per_pos", "position")
    if not by_position:
        return from_rate("metrics", _engine(prefix), accepted, drafted, options.draft_tokens or whole(drafted, drafts))
    survivors = _survivors(by_position, drafts, where)
    agree(float(sum(survivors)), float(accepted), "the sum over positions of accepted tokens", f"{where}: ")
    ladder = [drafts, *survivors, 0]
    histogram = {j: ladder[j] - ladder[j + 1] for j in range(len(survivors) + 1)}
    counted, notes = _all_steps(scrape, histogram, drafted, where, options)
    return from_counts("metrics", _engine(prefix), [counted], len(survivors), pooled=True).with_notes(*notes)


def _survivors(by_position: dict[str, float], drafts: int, where: str) -> list[int]:
    """Steps in which position 1, 2, … was accepted: numbered from 0 without a gap, never rising."""
    positions = sorted(by_position, key=lambda text: int(text) if text.isdecimal() else -1)
    if positions != [str(i) for i in range(len(positions))]:
        raise ScenarioError(f"{where}: positions {', '.join(map(repr, positions))}: they do not run from 0 on")
    counts = [round(by_position[position]) for position in positions]
    for position, (before, now) in enumerate(zip([drafts, *counts], counts, strict=False)):
        if now > before:
            raise ScenarioError(
                f"{where}: position {position} was accepted {now:,} times, more than what comes before it "
                f"({before:,}): survival never rises"
            )
    return counts


def _all_steps(
    scrape: Scrape, histogram: dict[int, int], drafted: int, where: str, options: ReadOptions
) -> tuple[RequestCounts, list[str]]:
    """The steps, those without a proposal included where the draft is a look-up; and what is to be said of them."""
    drafts, k = sum(histogram.values()), max(histogram)
    notes = []
    if drafted < drafts * k:
        notes.append(
            f"{drafted / drafts:.3g} of {k} draft tokens are proposed on average; how they are spread over steps the "
            "counters do not say, so that a simulation prices all of them"
        )
    if not options.lookup:
        notes.append("steps without a proposal are not counted; for a look-up add --lookup")
        return RequestCounts(histogram, drafted_tokens=drafted), notes
    prefix = scrape.names("spec_decode_num_drafts")[0].partition("spec_decode")[0]
    generated, ended = (scrape.total(f"{prefix}{name}") for name in ("generation_tokens", "request_success"))
    if generated is None or ended is None:
        raise ScenarioError(
            f"{where}: --lookup needs {prefix}generation_tokens_total and {prefix}request_success_total beside the "
            "counters of speculative decoding"
        )
    accepted = sum(j * n for j, n in histogram.items())
    idle = round(generated - ended) - accepted - drafts
    if idle < -FEW_LEFT_OUT * drafts:
        raise ScenarioError(
            f"{where}: {generated:,.0f} generated tokens are fewer than {drafts:,} drafts and {accepted:,} accepted "
            "tokens make"
        )
    idle = max(idle, 0)
    notes.append(f"{idle:,} steps without a proposal, from generated tokens less first, accepted and bonus tokens")
    whole = drafted == drafts * k
    accepted_by_step = histogram | {0: histogram[0] + idle}
    return RequestCounts(accepted_by_step, {0: idle, k: drafts} if whole else None, drafted), notes


def _tensorrt_llm(scrape: Scrape, where: str, options: ReadOptions) -> AcceptanceFinding:
    """Draft and accepted tokens; the steps they were counted in are not exported."""
    drafted, accepted = (
        _whole(scrape, f"trtllm_spec_decode_{name}", where) for name in ("num_draft_tokens", "num_accepted_tokens")
    )
    if drafted == 0:
        raise ScenarioError(f"{where}: trtllm_spec_decode_num_draft_tokens is 0: nothing was drafted in this time")
    no_more_than_drafted(accepted, drafted, f"{where}: ")
    return from_rate("metrics", "trtllm", accepted, drafted, options.draft_tokens)


def _sglang(scrape: Scrape, where: str, options: ReadOptions) -> AcceptanceFinding:
    """A gauge of tokens per step, bonus included, over the engine's last interval."""
    lengths = [value for (name, _), value in scrape.samples.items() if name == "sglang:spec_accept_length"]
    if len(lengths) > 1:
        raise ScenarioError(
            f"{where}: sglang:spec_accept_length of {len(lengths)} engines: gauges do not add up; choose one with "
            "--label NAME=VALUE"
        )
    length = lengths[0]
    if length < 1:
        raise ScenarioError(
            f"{where}: sglang:spec_accept_length is {length:g}: it counts the bonus token, so it is 1 or more while "
            "the server drafts; scrape it under load"
        )
    steps = scrape.total("sglang:spec_num_steps")
    found = from_mean("metrics", "sglang", length, options.draft_tokens or (round(steps) if steps else None))
    return found.with_notes("a gauge of the engine's last interval, not of all its traffic")


def _engine(prefix: str) -> str:
    return prefix.partition(":")[0]


def _whole(scrape: Scrape, name: str, where: str) -> int:
    value = scrape.total(name)
    if value is None:
        raise ScenarioError(f"{where}: no counter {name}, without which the others say nothing")
    return round(value)


ENGINES: dict[str, Callable[[Scrape, str, ReadOptions], AcceptanceFinding]] = {
    ":spec_decode_num_drafts": _vllm,
    "trtllm_spec_decode_num_draft_tokens": _tensorrt_llm,
    "sglang:spec_accept_length": _sglang,
}
"""End of a counter's name → who reads it."""
