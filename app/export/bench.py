"""`bench.sh`: starts the engine and sends it the requests of a prediction, with drafts accepted as predicted.

The client is vLLM's `bench serve` whatever the engine: all of them answer OpenAI's completions. Options: vLLM
`vllm/benchmarks/serve.py` (@009e6d4a) and its dataset `timed_trace`.
"""

from collections.abc import Iterator
from math import ceil

from app.export.command import EngineCommand, shell, shell_word
from app.export.formats import draft_checkpoint, draft_wanted, target_checkpoint, target_wanted
from app.export.requests import BLOCK_TOKENS
from app.export.served import MODEL, PORT, USUAL_PORT, Served
from simulator.spec.workload import Workload

REQUESTS_FILE, RESULT_FILE, PREDICTION_FILE = "requests.jsonl", "result.json", "predicted.json"
CLOSED_REQUESTS = 10
"""Requests for each client of a closed loop, at least."""

_HEAD = """\
#!/usr/bin/env bash
# Checks a prediction on hardware: one replica of {name} (scenario {scenario}) on {gpus} × {gpu}, {engine}.
#
#   ./bench.sh serve     starts the engine; wait until it answers
#   ./bench.sh run       in another terminal: sends {requests} requests, writes {result}
#   specfleet validate {result} --against {prediction}
#
{drafts}# MODEL, DRAFT and PORT can be set from outside. A gated model needs its access token in the environment, where
# the engine looks for it (HF_TOKEN): no script holds it.
set -euo pipefail
cd "$(dirname "$0")"

case "${{1:-}}" in
serve | run) ;;
*)
  sed -n '2,/^set /s/^# \\{{0,1\\}}//p' "${{0##*/}}"
  exit 2
  ;;
esac

"""
_DRAFTS = """\
# Draft tokens are accepted as often as in the prediction, whatever the draft says (synthetic acceptance): time is
# checked, not the draft's quality, and the text that comes out means nothing.
#
"""
_TAIL = '\n"$1"\n'


def script(served: Served, command: EngineCommand, workload: Workload, scenario: str, requests: int) -> str:
    """The script of one deployment; command: with synthetic acceptance."""
    target = served.spec.target
    head = _HEAD.format(
        name=served.name, scenario=scenario, gpus=target.num_gpus, gpu=served.spec.gpu, engine=served.engine,
        requests=requests, result=RESULT_FILE, prediction=PREDICTION_FILE, drafts=_DRAFTS if served.draft else "",
    )  # fmt: skip
    return head + "".join(_variables(served, command)) + _serve(command) + _run(served, workload, requests) + _TAIL


def _variables(served: Served, command: EngineCommand) -> Iterator[str]:
    yield _variable("MODEL", target_checkpoint(served), target_wanted(served))
    if command.names_draft:
        yield _variable("DRAFT", draft_checkpoint(served), draft_wanted(served))
    yield _variable("PORT", USUAL_PORT, "")


def _variable(name: str, usual: str | None, wanted: str) -> str:
    """A variable with its usual value, or one that has to be set.

    >>> print(_variable("MODEL", "a/b", ""), _variable("DRAFT", None, "the head's checkpoint"), sep="", end="")
    MODEL="${MODEL:-a/b}"
    DRAFT="${DRAFT:?set it to the head's checkpoint}"
    """
    return f'{name}="${{{name}:-{usual}}}"\n' if usual else f'{name}="${{{name}:?set it to {wanted}}}"\n'


def _serve(command: EngineCommand) -> str:
    files = "".join(_here(name, text) for name, text in command.files.items())
    setting = "".join(f"  export {name}={shell_word(value)}\n" for name, value in command.environment.items())
    return f"\nserve() {{\n{files}{setting}  exec {shell(command.words, '  ')}\n}}\n"


def _here(name: str, text: str) -> str:
    """A file that the script writes, in which the shell replaces variables."""
    return f"  cat >{name} <<END\n{text}END\n"


def _run(served: Served, workload: Workload, requests: int) -> str:
    words = [
        "vllm", "bench", "serve", "--backend", "openai", "--base-url", f"http://127.0.0.1:{PORT}", "--model", MODEL,
        "--dataset-name", "timed_trace", "--dataset-path", REQUESTS_FILE,
        "--timed-trace-chunk-hash-size", str(BLOCK_TOKENS), "--timed-trace-sec-multiplier", "0.001",
        *_pace(served, workload), "--num-prompts", str(requests), "--no-oversample", "--disable-shuffle",
        "--ignore-eos", "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99",
        "--save-result", "--result-filename", RESULT_FILE,
    ]  # fmt: skip
    return f"\nrun() {{\n  exec {shell(words, '  ')}\n}}\n"


def _pace(served: Served, workload: Workload) -> list[str]:
    """When requests are sent: at their own times, or as fast as they are let."""
    clients = clients_of(served, workload)
    if clients is not None:
        return ["--no-self-timed", "--request-rate", "inf", "--max-concurrency", str(clients)]
    if workload.arrivals.kind == "queued_at_once":
        return ["--no-self-timed", "--request-rate", "inf"]
    return ["--self-timed"]


def clients_of(served: Served, workload: Workload) -> int | None:
    """Clients of one replica in a closed loop; None elsewhere."""
    if workload.arrivals.kind != "closed_loop":
        return None
    return ceil(workload.arrivals.concurrency / served.spec.replicas)


def requests_wanted(served: Served, workload: Workload, asked: int) -> int:
    """Requests of the benchmark: as asked, and enough for every client of a closed loop."""
    return max(asked, CLOSED_REQUESTS * (clients_of(served, workload) or 0))
