"""Files of other tools that are ambiguous, contradict themselves, or say nothing of what is asked."""

import json

from tests.bad_input.cases import Case
from tests.calibration.importers import samples

SPEC = samples.BENCH | samples.SPEC
TWO_ENGINES = samples.METRICS + samples.METRICS.replace('engine="0"', 'engine="1"')
RATE_ALONE = samples.BENCH | {"spec_decode_acceptance_rate": 0.9}


def of(name: str, content: object, *parts: str, options: str = "", file: str = "given") -> Case:
    """`import acceptance` of one file."""
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    return Case(name, ["import", "acceptance", file, *options.split()], [file, *parts], {file: text})


def response(**changes: object) -> dict[str, object]:
    """A response of 10 steps and 11 accepted tokens whose statistics are changed."""
    return samples.vllm_response([3, 3, 4], **changes)


FILES = [
    of("acceptance-empty", "", "empty"),
    of("import-binary", b"\xff\xfe\x00", "not a text in UTF-8"),
    of("import-prose", "dear planner,\nplease", "neither JSON nor a Prometheus /metrics text"),
    of("import-broken-json", '{"completed": 3,', "given:1", "not JSON"),
    of("import-broken-line", samples.lines([response()]) + '{"metrics": \n', "given:2", "not a line of JSON"),
    of("import-of-something-else", {"weights": [1, 2]}, "not a file that is known here", "vLLM bench serve JSON"),
    of("import-guidellm", samples.GUIDELLM, "holds no acceptance", "import the server's /metrics instead"),
]

COUNTERS = [
    of("import-two-engines", TWO_ENGINES, "counters of 2 engines", "engine=0, model_name=m", "--label", "--sum"),
    of(
        "import-no-such-engine",
        TWO_ENGINES,
        "no counters with --label engine=7",
        "engine=0",
        options="--label engine=7",
    ),
    of("import-label-of-nothing", samples.METRICS, "--label engine", "NAME=VALUE", options="--label engine", file="e"),
    of("import-not-speculating", "vllm:generation_tokens_total 5\n", "no counters of speculative decoding"),
    of("import-no-drafts", samples.METRICS.replace(" 1000.0", " 0.0"), "num_drafts is 0"),
    of("import-survival-rises", samples.METRICS.replace(" 500.0", " 900.0"), "position 1", "900", "never rises"),
    of("import-positions-with-a-gap", samples.METRICS.replace('position="1"', 'position="4"'), "do not run from 0"),
    of("import-sum-is-wrong", samples.METRICS.replace(" 1500.0", " 1800.0"), "1500", "1800"),
    of("import-a-line-twice", samples.METRICS + samples.METRICS, "given:", "stands twice", "one scrape a file"),
    of("import-not-a-number", samples.METRICS.replace(" 800.0", " many"), "given:8", "'many' is not a number"),
    of("import-no-k", samples.TRTLLM, "not in how many steps", "--draft-tokens K"),
    of("import-k-too-small", samples.SGLANG, "2.65", "commit at most 2", options="--draft-tokens 1"),
    of(
        "import-gauges-added",
        samples.SGLANG + samples.SGLANG.replace('dp_rank="0"', 'dp_rank="1"'),
        "of 2 engines",
        "gauges do not add up",
        options="--sum",
    ),
    of("import-idle-gauge", samples.SGLANG.replace("2.65", "0.0"), "it is 1 or more while"),
]

BENCHMARKS = [
    of("import-rate-alone", RATE_ALONE, "0.9 % or a fraction (90%)"),
    of("import-fraction-for-percent", SPEC | {"spec_decode_acceptance_rate": 0.5}, "a fraction", "percent"),
    of("import-conditional-rates", SPEC | {"spec_decode_per_position_acceptance_rates": [0.8, 0.9]}, "rises", "0.9"),
    of("import-length-without-bonus", SPEC | {"spec_decode_acceptance_length": 0.8}, "below 1", "bonus token"),
    of("import-length-contradicts", SPEC | {"spec_decode_acceptance_length": 3.5}, "is 3.5", "2.5"),
    of("import-share-above-one", SPEC | {"spec_decode_per_position_acceptance_rates": [80, 50]}, "80", "from 0 to 1"),
    of("import-plain-run", samples.BENCH, "did not speculate"),
    of("import-a-sweep", [SPEC, SPEC], "2 runs", "one run a file"),
    of("import-unfinished", samples.AIPERF | {"is_complete": False}, "is_complete is false"),
    of(
        "import-pool-contradicts",
        samples.AIPERF | samples.AIPERF_SPEC | {"total_spec_decode_steps": {"unit": "count", "avg": 12}},
        "counts 11 steps", "the totals 12",
    ),
]  # fmt: skip

REQUESTS = [
    of("import-steps-contradict", response(num_spec_steps=11), "record 1", "counts 10 steps", "11"),
    of("import-accepted-contradict", response(num_accepted_draft_tokens=12), "counts 11 accepted tokens", "12"),
    of("import-more-accepted-than-drafted", response(num_draft_tokens=10), "11 tokens accepted of 10 drafted"),
    of("import-percent-for-fraction", response(draft_acceptance_rate=55.0), "draft_acceptance_rate is 55"),
    of("import-negative-count", response(acceptance_histogram=[-1, 2]), "acceptance_histogram.0", "-1"),
    of("import-histogram-of-words", response(acceptance_histogram="many"), "neither a list nor a mapping"),
    of("import-two-kinds", [response(), samples.sglang_response([1, 2])], "several engines (sglang, vllm)"),
    of("import-lengths-vary", [samples.iteration(7, 2, 3)], "2.33 a step", "no whole number"),
]

OTHERS = [
    Case(
        "import-restarted",
        ["import", "acceptance", "before", "after"],
        ["before, after", "falls from 1000 to 900", "restarted"],
        {"before": samples.METRICS, "after": samples.METRICS.replace(" 1000.0", " 900.0")},
    ),
    Case(
        "import-two-of-a-kind-that-has-one",
        ["import", "acceptance", "one", "two"],
        ["two", "both /metrics texts"],
        {"one": json.dumps(SPEC), "two": json.dumps(SPEC)},
    ),
    Case(
        "import-onto-a-file",
        ["import", "acceptance", "given", "--out", "a-file"],
        ["a-file: is there already", "--force"],
        {"given": samples.METRICS, "a-file": "text"},
    ),
    Case(
        "import-benchmark-unsaid",
        ["import", "benchmark", "given", "--tp", "2"],
        ["given", "gpu, model, precision", "--gpu, --model, --precision"],
        {"given": json.dumps(samples.BENCH)},
    ),
]

IMPORTS: list[Case] = [*FILES, *COUNTERS, *BENCHMARKS, *REQUESTS, *OTHERS]
