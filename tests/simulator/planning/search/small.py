"""Plans of toy size: a small model whose replicas hold sixteen sequences, so that a few of them carry the load."""

from typing import Any

from simulator.planning.search.field import Field, field_of
from simulator.planning.tasks import Meter
from simulator.run import simulate_once
from simulator.spec.plan import Plan
from simulator.spec.scenario import Scenario
from tests.simulator.outcome import specs

SLO = {"ttft_s": {"p95": 0.2}, "tpot_s": {"p95": 0.02}}

B200 = {"gpu": "b200-sxm", "price": 6.0}


def scenario(
    deployments: dict[str, dict[str, Any]] | None = None,
    rate_per_s: float = 60.0,
    requests: int = 400,
    slo: dict[str, Any] | None = SLO,
    max_num_seqs: int = 16,
    **changes: Any,
) -> Scenario:
    """A scenario whose deployments are candidates; each is a change to a plain one on an H200."""
    engine = {"policy": "vllm", "max_model_len": 4096, "max_num_seqs": max_num_seqs}
    named = {name: {"engine": engine} | of for name, of in (deployments or {"plain": {}}).items()}
    workload = {
        "arrivals": {"kind": "poisson", "rate_per_s": rate_per_s},
        "lengths": {"kind": "fixed", "prompt_tokens": 300, "output_tokens": 100},
        "horizon": {"requests": requests, "warmup_requests": 50},
    }
    return specs.scenario(named, **({"workload": workload, "slo": slo, "replications": 2} | changes))


def question(**said: Any) -> Plan:
    """What is asked; two candidates are confirmed unless said otherwise."""
    return Plan.model_validate({"confirm": 2} | said)


def field(of: Scenario, **said: Any) -> Field:
    """What a search works on."""
    return field_of(of, question(**said), None, Meter(None, 0), simulate_once)
