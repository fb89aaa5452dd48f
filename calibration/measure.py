"""Measure a device with the engine: `python -m calibration.measure --model smollm2 --quick --out FILE`.

Needs torch, numpy and `engine` only. `specfleet calibrate fit FILE` makes a profile of the file, here or on another
machine. Run again with the same file, it goes on where it was interrupted.
"""

import argparse
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from calibration.drafts import Drafts, catalog_name, drafts_of
from calibration.measuring.gpu_suite import measure_gpu
from calibration.measuring.kernels import measure_kernels
from calibration.measuring.noise import load_average, report
from calibration.measuring.points import DRAFT_TOKENS
from calibration.measuring.session import FULL, QUICK, Pace, Say, measure_steps, progress_to_stderr
from calibration.measuring.steps import Stage
from calibration.measuring.store import MeasurementError, Store
from engine.commands.machine import about_machine
from engine.commands.setup import Workbench, add_batch_flags, add_draft_flags, add_model_flags, workbench
from engine.errors import EngineError

DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "bf16"}
"""The engine's element type → the planner's weight format; both half precisions take the same bytes and time."""


def parser() -> argparse.ArgumentParser:
    """All flags; those of the model, its draft and the batch are the engine's own."""
    top = argparse.ArgumentParser(
        prog="python -m calibration.measure",
        description="Measure a device with the engine.",
        epilog="example: python -m calibration.measure --model smollm2 --threads 2 --quick --out cpu.json",
    )
    top.add_argument("--out", type=Path, required=True, help="file of measurements; taken up if it is there")
    top.add_argument("--suite", choices=["steps", "gpu"], default="steps", help="gpu: the checks and curves of a GPU")
    top.add_argument("--quick", action="store_true", help="about 2 minutes instead of about 8")
    top.add_argument("--strict", action="store_true", help="refuse a noisy machine")
    top.add_argument("--force", action="store_true", help="begin anew, whatever the file holds")
    top.add_argument("--tiny", action="store_true", help="with --suite gpu: tiny models, to try the suite itself")
    add_model_flags(top)
    add_draft_flags(top, default="lookup")
    add_batch_flags(top)
    return top


def main(arguments: Sequence[str]) -> int:
    """Measure; 0 ok, 2 bad input or a refused machine, 130 interrupted (what is finished is kept)."""
    flags = parser().parse_args(arguments)
    try:
        if flags.suite == "gpu":
            measure_gpu(flags.out, flags.device, tiny=flags.tiny)
        else:
            data = measure(flags, progress_to_stderr())
            sys.stderr.write(f"\n{flags.out}: {summary(data)}\n")
    except EngineError as error:
        sys.stderr.write(f"\nerror: {error}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; run it again to go on\n")
        return 130
    return 0


def measure(flags: Namespace, say: Say, pace: Pace | None = None) -> Mapping[str, Any]:
    """All measurements of one model on one device, in the file that the flags name; its content."""
    if flags.draft_process and flags.clock == "cpu":
        raise MeasurementError(
            f"--draft-process {flags.draft_process}: the CPU's seconds do not hold what a step waits for another "
            "process; use --clock wall"
        )
    bench = workbench(flags)
    store = Store(flags.out, header(bench, flags), fresh=flags.force)
    if not store.data["loads"]:
        store.data["loads"].append({"load_average": load_average(), "clock_mhz": None})
    refused(store.data, flags.strict)
    stages = {False: Stage(bench, drafted=False)}
    if flags.draft != "none":
        stages[True] = Stage(bench, drafted=True, most_drafted=_most_drafted(drafts_of(flags), flags.draft_tokens))
    how = pace or (QUICK if flags.quick else FULL)
    measure_steps(store, stages, how, quick=flags.quick, seed=flags.seed, say=say)
    measure_kernels(store, bench.target, lambda name: say(0, 0, 0.0, name), bench.clock)
    store.data["noise"] = report(store.data)
    store.data["complete"] = True
    store.save()
    refused(store.data, flags.strict)
    return store.data


def _most_drafted(drafts: Drafts, k: int) -> int:
    """Draft tokens up to which steps are measured: all nodes of a tree, at least the usual ones of chains."""
    nodes = drafts.all_nodes(k)
    return nodes if drafts.shape() is not None else max(nodes, DRAFT_TOKENS[-1])


def refused(data: Mapping[str, Any], strict: bool) -> None:
    """Refuse a noisy machine where that is asked for."""
    why = report(data)["why_noisy"]
    if strict and why:
        raise MeasurementError(f"a noisy machine (--strict): {'; '.join(why)}; end what else runs, and run it again")


def header(bench: Workbench, flags: Namespace) -> dict[str, Any]:
    """Device, model and options: what measurements must have in common."""
    about = about_machine(bench.target, flags.clock)
    cuda = bench.target.device.type == "cuda"
    options = bench.options
    return {
        "device": {
            "kind": "cuda" if cuda else "cpu",
            "name": about["device"],
            "cores": about["cpus"],
            "threads": about["threads"],
            "backend": about["backend"],
            "torch": about["torch"],
            "memory_bytes": _memory_bytes(bench.target.device),
        },
        "model": {
            "name": catalog_name(flags.model),
            "dtype": DTYPES[about["dtype"]],
            "architecture": asdict(bench.target.architecture),
        },
        "options": {
            "kv_blocks": options.kv_blocks,
            "block_tokens": options.block_tokens,
            "max_model_len": options.limits.max_model_len,
            "max_num_seqs": options.limits.max_num_seqs,
            "max_num_batched_tokens": options.limits.max_num_batched_tokens,
            "draft": drafts_of(flags).surface(flags.model),
            "clock": flags.clock,
        },
        "quick": flags.quick,
    }


def _memory_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[1])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def summary(data: Mapping[str, Any]) -> str:
    """One line on what was measured and how far it can be trusted."""
    noise = data["noise"]
    visits = sum(len(seen) for seen in data["visits"].values())
    told = f"{visits} visits to {len(data['visits'])} points; the same step repeats to {noise['repeat']:.1%}"
    return told + (f"; NOISY: {'; '.join(noise['why_noisy'])}" if noise["why_noisy"] else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
