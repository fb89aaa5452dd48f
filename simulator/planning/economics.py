"""What drafts add to a request, what they save at the load, and when their training has paid back."""

from collections.abc import Sequence
from typing import Any

from simulator.outcome.report import Row
from simulator.physics.acceptance import operations_ratio
from simulator.planning.comparison import BY_LOAD
from simulator.planning.context import ledger_of
from simulator.spec.scenario import Scenario

HOURS_PER_MONTH = 365.25 * 24.0 / 12.0


def months_to_pay_back(one_time_usd: float, saving_usd_per_hour: float) -> float | None:
    r"""Months after which a one-time cost is earned back; None where nothing is saved [months].

    .. math:: m = C / (730.5\, s)

    one_time_usd: C. [USD]
    saving_usd_per_hour: s, all hours of the month, at the load of the scenario. [USD/h]

    >>> months_to_pay_back(14_610.0, 10.0), months_to_pay_back(1.0, 0.0)
    (2.0, None)
    """
    return one_time_usd / (saving_usd_per_hour * HOURS_PER_MONTH) if saving_usd_per_hour > 0 else None


def economics(scenario: Scenario, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Of every deployment that speculates and fits: what its drafts add, save and cost.

    rows: one of each deployment, of one point.
    """
    return [
        _of(scenario, row, reference(scenario, rows, row["deployment"]))
        for row in rows
        if row["fits"] and scenario.deployments[row["deployment"]].speculation.kind != "none"
    ]


def reference(scenario: Scenario, rows: Sequence[Row], deployment: str) -> Row | None:
    """What would be bought without a draft: the cheapest plain deployment for the load, of its GPU and target first.

    None where the scenario has no plain deployment that holds the load.
    """
    plain = [row for row in rows if row[BY_LOAD] is not None and _is_plain(scenario, row)]
    kinds = {name: (spec.gpu, spec.target) for name, spec in scenario.deployments.items()}
    alike = [row for row in plain if kinds[row["deployment"]] == kinds[deployment]]
    return min(alike or plain, key=lambda row: float(row[BY_LOAD]), default=None)


def _is_plain(scenario: Scenario, row: Row) -> bool:
    return scenario.deployments[row["deployment"]].speculation.kind == "none"


def _of(scenario: Scenario, row: Row, plain: Row | None) -> dict[str, Any]:
    spec = scenario.deployments[row["deployment"]]
    cost = None if spec.economics is None else spec.economics.one_time_usd
    saving = None if plain is None or row[BY_LOAD] is None else plain[BY_LOAD] - row[BY_LOAD]
    return {
        "deployment": row["deployment"],
        "against": plain["deployment"] if plain is not None else None,
        "gpus_for_offered": row["gpus_for_offered"],
        "gpus_for_offered_without": plain["gpus_for_offered"] if plain is not None else None,
        "saving_usd_per_hour": saving,
        "one_time_usd": cost,
        "months_to_pay_back": None if cost is None or saving is None else months_to_pay_back(cost, saving),
        **added(scenario, row),
    }


def added(scenario: Scenario, row: Row) -> dict[str, Any]:
    """What drafts add to the memory of the GPU that holds most of them, to a token's KV, and to a token's FLOPs."""
    ledger = ledger_of(row["deployment"], scenario.deployments[row["deployment"]])
    target_kv, draft_kv = (max(role.kv_bytes_per_token.get(of, 0) for role in ledger) for of in ("target", "draft"))
    known = (row["draft_tokens_mean"], row["draft_flops_ratio"], row["tokens_per_step"])
    return {
        "draft_weights_share_of_hbm": max(role.draft_weights_bytes / role.hbm_bytes for role in ledger),
        "draft_kv_ratio": draft_kv / target_kv if target_kv else None,
        "operations_ratio": None if None in known else operations_ratio(*known),
    }
