"""What a benchmark is predicted to measure: one replica, simulated with the very requests that will be sent."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from app.export.bench import clients_of
from app.export.served import Served, least_varied
from simulator.cluster.records import ClusterRecords
from simulator.outcome.latency import request_latencies, summarise
from simulator.planning.model_error import error_known
from simulator.planning.provenance import package_version, provenance
from simulator.run import simulate_once
from simulator.spec.acceptance import Acceptance
from simulator.spec.arrivals import ClosedLoopArrivals, TraceArrivals
from simulator.spec.deployment import Deployment
from simulator.spec.prediction import BenchFigures, BenchLoad, Prediction, StepFactors
from simulator.spec.scenario import Scenario
from simulator.spec.speculation import DraftSpeculation
from simulator.spec.workload import Horizon, Prefix, TraceLengths, Workload


def predicted(served: Served, scenario: Scenario, trace: Path, requests: int) -> Prediction:
    """Simulate the benchmark of a deployment.

    trace: the requests, as they were written.
    """
    asked = bench_scenario(served, scenario, trace, requests)
    records = simulate_once(asked, served.name, 0)
    known = error_known(asked, served.name)
    sent = records.requests
    return Prediction(
        kind="specfleet-prediction",
        schema_version=1,
        scenario=scenario.name,
        deployment=served.name,
        engine=served.engine,
        gpu=served.spec.gpu,
        gpus=served.spec.target.num_gpus,
        profile=str(provenance(asked)["profile"]),
        version=package_version(),
        acceptance=rates_of(served),
        load=BenchLoad(
            requests=int(sent.prompt_tokens[:requests].size),
            prompt_tokens=int(sent.prompt_tokens[:requests].sum()),
            output_tokens=int(sent.output_tokens[:requests].sum()),
            clients=clients_of(served, scenario.workload),
        ),
        figures=figures(records, requests),
        factors=None if known is None else StepFactors(tpot=known.step, ttft=known.ttft, basis=known.basis),
    )


def rates_of(served: Served) -> tuple[float, ...]:
    """Survival by position as the engine's synthetic acceptance has it: by position, or of a mean alone [0 to 1]."""
    if served.engine == "vllm":
        return tuple(round(rate, 4) for rate in served.rates)
    return least_varied(served.tokens_per_step, len(served.rates))


def bench_scenario(served: Served, scenario: Scenario, trace: Path, requests: int) -> Scenario:
    """One replica, the requests of the benchmark and no others, all drafts accepted alike."""
    own = {
        **_requests(served, scenario.workload, trace),
        "classes": {"all": 1.0},
        "priorities": {},
        "temperature": None,
        "horizon": Horizon(requests=requests, warmup_requests=0),
    }
    workload = scenario.workload.model_copy(update=own)
    return scenario.model_copy(update={"workload": workload, "deployments": {served.name: _alone(served)}})


def _requests(served: Served, workload: Workload, trace: Path) -> dict[str, Any]:
    """The trace; in a closed loop the same requests are drawn again, because they come when others end."""
    clients = clients_of(served, workload)
    if clients is not None:
        return {"arrivals": ClosedLoopArrivals(kind="closed_loop", concurrency=clients)}
    replayed = TraceArrivals(kind="trace", file=str(trace.absolute()))
    return {"arrivals": replayed, "lengths": TraceLengths(kind="trace"), "prefix": Prefix()}


def _alone(served: Served) -> Deployment:
    """One replica, whose draft is accepted as the engine's synthetic acceptance has it."""
    spec, speculation = served.spec.model_copy(update={"replicas": 1}), served.spec.speculation
    if not isinstance(speculation, DraftSpeculation) or not served.rates:
        return spec
    same = {"all": Acceptance(survival=rates_of(served), of=_shape_of(speculation))}
    drafts = {name: draft.model_copy(update={"acceptance": same}) for name, draft in speculation.drafts.items()}
    return spec.model_copy(update={"speculation": speculation.model_copy(update={"drafts": drafts})})


def _shape_of(speculation: DraftSpeculation) -> Literal["chain", "tree"]:
    """Of what the rates are: of a tree they are those of the very tree, by depth."""
    return "chain" if speculation.propose.shape == "chain" else "tree"


def figures(records: ClusterRecords, requests: int) -> BenchFigures:
    """What the client counts: all requests, from the first to the last answer."""
    sent, of = records.requests, request_latencies(records.requests)
    first = slice(0, requests)
    lasted = float(np.nanmax(sent.finish_s[first]) - np.nanmin(sent.arrival_s[first]))
    steps = int(sent.steps[first].sum())
    return BenchFigures(
        ttft_s=summarise(of.ttft_s[first]),
        tpot_s=summarise(of.tpot_s[first]),
        e2e_s=summarise(of.e2e_s[first]),
        req_per_s=float(sent.finish_s[first].size / lasted),
        output_tokens_per_s=float(sent.output_tokens[first].sum() / lasted),
        tokens_per_step=float(sent.committed_tokens[first].sum() / steps) if records.draft_tokens and steps else None,
    )
