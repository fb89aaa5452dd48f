"""What a measurement was taken on: without it, a number cannot be read."""

import os
import platform
from pathlib import Path
from typing import Any

import torch

from engine.model import Model


def about_machine(model: Model, clock: str = "wall") -> dict[str, Any]:
    """Device, threads, backend, versions, and the load of the machine right now."""
    cuda = model.device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(model.device) if cuda else _cpu_name(),
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "clock": clock,
        "backend": model.backend,
        "dtype": str(model.dtype).removeprefix("torch."),
        "torch": torch.__version__,
        "load_average_1m": round(os.getloadavg()[0], 2),
        "pass_is_split": not cuda,
    }


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                flags = " avx512" if "avx512f" in info.read_text(encoding="utf-8") else ""
                return line.partition(":")[2].strip() + flags
    return platform.processor() or platform.machine()
