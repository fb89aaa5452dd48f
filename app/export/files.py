"""The files of an export: flags and values to start from, and a benchmark that checks the prediction on hardware."""

from pathlib import Path
from tempfile import TemporaryDirectory

from app.export.bench import PREDICTION_FILE, REQUESTS_FILE, requests_wanted, script
from app.export.exported import COMMANDS, Exported
from app.export.llm_d import values
from app.export.prediction import predicted
from app.export.requests import requests_of, trace_text
from simulator.spec.scenario import Scenario

BENCH_FILE, VALUES_FILE = "bench.sh", "values.yaml"


def flag_files(one: Exported) -> dict[str, str]:
    """Configurations that the command names, and values for llm-d where vLLM serves: name → text."""
    found = one.configurations
    return found | {VALUES_FILE: values(one.served)} if one.served.engine == "vllm" else found


def why_no_bench(one: Exported, scenario: Scenario) -> str:
    """Why a prediction of this deployment cannot be checked with its flags; empty: it can."""
    if one.left_out:
        return f"{one.served.engine} cannot be told all of it"
    if one.served.draft is not None and one.served.draft.ngram is not None:
        return "an n-gram draft copies from the text, and the prompts of a benchmark are random"
    if scenario.workload.prefix.turns > 1:
        return "a session's next turn waits for the answer before it, which a trace of fixed times cannot say"
    return ""


def bench_files(one: Exported, scenario: Scenario, requests: int) -> dict[str, str]:
    """The benchmark of one replica, with what it is predicted to measure: name → text.

    Raises ScenarioError where no request fits.
    """
    workload = scenario.workload
    rows = requests_of(one.served, workload, scenario.seed, requests_wanted(one.served, workload, requests))
    trace = trace_text(rows)
    with TemporaryDirectory() as folder:
        file = Path(folder) / REQUESTS_FILE
        file.write_text(trace, encoding="utf-8")
        prediction = predicted(one.served, scenario, file, len(rows))
    command = COMMANDS[one.served.engine](one.served, synthetic=True)
    return {
        REQUESTS_FILE: trace,
        BENCH_FILE: script(one.served, command, workload, scenario.name, len(rows)),
        PREDICTION_FILE: prediction.model_dump_json(indent=2) + "\n",
    }
