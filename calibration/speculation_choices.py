"""Choices that predicted speed-ups lead to: how many draft tokens, and a tree or a chain of as many nodes."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from calibration.speculation_validation import SpeculationOutcome

ALWAYS = 5
"""Draft tokens that one answers without any prediction."""
Sweep = tuple[str, str, str, str, float]


def _sweep(one: SpeculationOutcome) -> Sweep:
    """What rows that differ in their shape only have in common."""
    row = one.row
    return row.gpu, row.target, row.draft, row.dataset, row.sequences


def _nodes(one: SpeculationOutcome) -> int:
    assert one.case is not None
    return one.case.speculative.speculation.draft_tokens


def _is_tree(one: SpeculationOutcome) -> bool:
    return one.case is not None and one.case.method.endswith("tree")


def regrets(done: Sequence[SpeculationOutcome]) -> dict[str, Any]:
    """What is lost by serving with the draft tokens that are predicted to be best, over sweeps of several K.

    Beside it: what always answering ALWAYS loses, where it was measured.
    """
    sweeps: dict[Sweep, dict[int, SpeculationOutcome]] = {}
    for one in done:
        if not _is_tree(one):
            sweeps.setdefault(_sweep(one), {})[_nodes(one)] = one
    found = [_regret(sweep, of) for sweep, of in sweeps.items() if len(of) > 2]
    fixed = [line["always"] for line in found if line["always"] is not None]
    mine = [line["regret"] for line in found]
    return {
        "sweeps": len(found),
        "mean": fmean(mine) if mine else None,
        "worst": max(mine, default=None),
        "always": ALWAYS,
        "always_mean": fmean(fixed) if fixed else None,
        "always_worst": max(fixed, default=None),
        "by_sweep": found,
    }


def _regret(sweep: Sweep, of: dict[int, SpeculationOutcome]) -> dict[str, Any]:
    gpu, target, draft, dataset, sequences = sweep
    chosen = max(of, key=lambda k: of[k].speedup)
    best = max(of, key=lambda k: of[k].row.speedup)

    def lost(k: int) -> float:
        return 1.0 - of[k].row.speedup / of[best].row.speedup

    return {
        "gpu": gpu, "target": target, "draft": draft.split("/")[-1], "dataset": dataset, "sequences": sequences,
        "predicted_best": chosen, "measured_best": best, "regret": lost(chosen),
        "always": lost(ALWAYS) if ALWAYS in of else None,
    }  # fmt: skip


def tree_pairs(done: Sequence[SpeculationOutcome]) -> dict[str, Any]:
    """Trees against chains of as many nodes, each with the length that it was measured to accept."""
    shapes: dict[tuple[Sweep, int], dict[bool, SpeculationOutcome]] = {}
    for one in done:
        shapes.setdefault((_sweep(one), _nodes(one)), {})[_is_tree(one)] = one
    pairs = [(of[True], of[False]) for of in shapes.values() if len(of) == 2]
    wrong = [(tree, chain) for tree, chain in pairs if not _ranked(tree, chain)]
    return {
        "pairs": len(pairs),
        "ranked_right": len(pairs) - len(wrong),
        "wrong": [
            {
                "tree": tree.row.id,
                "chain": chain.row.id,
                "measured": tree.row.speedup / chain.row.speedup,
                "predicted": tree.speedup / chain.speedup,
            }
            for tree, chain in wrong
        ],
    }


def _ranked(tree: SpeculationOutcome, chain: SpeculationOutcome) -> bool:
    return (tree.speedup > chain.speedup) == (tree.row.speedup > chain.row.speedup)
