"""Which GPU of the catalog a cloud's accelerator is; where the name leaves it open, none."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from simulator.catalog.load import load_gpu, names

KNOWN: dict[str, str] = {
    **dict.fromkeys(("H100", "H100-SXM", "H100-SXM5", "H100-80GB", "H100-80GB-SXM", "H100-MEGA"), "h100-sxm"),
    **dict.fromkeys(("H200", "H200-SXM", "H200-SXM5"), "h200-sxm"),
    **dict.fromkeys(("B200", "B200-SXM", "B200-SXM6"), "b200-sxm"),
    **dict.fromkeys(("B300", "B300-SXM", "B300-SXM6"), "b300-sxm"),
    "GB200": "gb200",
}
"""Accelerator of SkyPilot's catalog → GPU of this one. H100 stands for PCIe boards too, which the line tells apart."""
OTHER_BOARD = re.compile(r"pcie|nvl(?!ink)", re.IGNORECASE)
MEMORY_MARGIN = 0.1
"""Relative difference from the memory that a driver reports which marketed sizes have at most."""
MIB_FROM = 1000
"""Sizes below this are GB, though the key says MiB: some clouds write so."""


def gpu_of(accelerator: str, instance: str, gpu_info: str, own: Mapping[str, str]) -> tuple[str | None, str]:
    """The GPU of the catalog that a line prices, else None and why; ValueError where GpuInfo cannot be read.

    own: accelerators that the user has told apart; they go before everything else.
    """
    if accelerator in own:
        return own[accelerator], ""
    gpu = KNOWN.get(accelerator) or next((name for name in names("gpus") if name == accelerator.lower()), None)
    if gpu is None:
        return None, "no GPU of the catalog is called so"
    info = _parsed(gpu_info)
    if OTHER_BOARD.search(" ".join((instance, *_texts(info)))):
        return None, f"another board than {gpu} (PCIe or NVL)"
    size = _memory_mib(info)
    real = load_gpu(gpu).memory.driver_mib
    if size is not None and abs(size / real - 1.0) > MEMORY_MARGIN:
        return None, f"GpuInfo says {size:,.0f} MiB, where {gpu} has {real:,}"
    return gpu, ""


def _parsed(gpu_info: str) -> Any:
    """The value of a GpuInfo cell: a Python literal, or JSON; None where the cell is empty."""
    if not gpu_info:
        return None
    for parse in (ast.literal_eval, json.loads):
        try:
            return parse(gpu_info)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise ValueError(f"GpuInfo: {gpu_info[:60]!r} is neither a Python literal nor JSON")


def _gpus(info: Any) -> list[Any]:
    listed = info.get("Gpus") if isinstance(info, dict) else None
    return [gpu for gpu in listed if isinstance(gpu, dict)] if isinstance(listed, list) else []


def _texts(info: Any) -> Iterator[str]:
    """Names of the GPUs that a cell describes."""
    yield from (str(gpu.get("Name", "")) for gpu in _gpus(info))


def _memory_mib(info: Any) -> float | None:
    """Memory of one GPU [MiB]; None where the cell does not say it."""
    for gpu in _gpus(info):
        memory = gpu.get("MemoryInfo")
        size = memory.get("SizeInMiB") if isinstance(memory, dict) else None
        if isinstance(size, int | float) and not isinstance(size, bool) and size > 0:
            return float(size if size >= MIB_FROM else size * 1e9 / 2**20)
    return None
