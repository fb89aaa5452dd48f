"""Rebuild every committed profile from its source: `python -m calibration.profiles` (`make profiles`).

A profile whose source is missing is left as it is, and that is said.
"""

import argparse
import importlib.util
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from calibration.constants import engine_constants, held_out, left_out
from calibration.fit_profile import Header, fit_profile
from calibration.kernels import Tables, merge, read_aiconfigurator, read_shared_gemm
from simulator.errors import ProfileError
from simulator.spec.profile import Profile
from simulator.spec.sources import Source, Sources

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "simulator" / "catalog" / "profiles"
SHARED_GEMM = ROOT.parent / "shared" / "measured" / "kernels" / "gemm_vllm.parquet"
PACKAGE = "aiconfigurator-core 0.12.0"
READ = date(2026, 11, 30)
"""Day on which the tables were read; the package does not state its own."""
TRTLLM = dict.fromkeys(("gemm", "attention", "mla", "moe", "comm"), "1.3.0rc20")
VLLM = dict.fromkeys(("gemm", "attention", "mla", "moe", "comm"), "0.24.0")
SGLANG = dict.fromkeys(("gemm", "attention", "mla", "moe", "comm"), "0.5.14")


class Recipe(NamedTuple):
    """What one profile is fitted from."""

    gpu: str
    engine: str
    versions: dict[str, str]
    """Part of the package → version folder."""
    shared_gemm: tuple[str, ...] = ()
    """Weight formats taken from shared/measured instead (timed eagerly in the package)."""


BLACKWELL = ("b200-sxm", "b300-sxm")
"""GPUs on which vLLM serves MXFP4 experts with TensorRT-LLM's kernels on 8-bit activations (FlashInfer).

Its own table holds the slower default, 16-bit activations; benchmarks and vLLM's recipe for gpt-oss set
VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8.
"""
GPUS = ("h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm")
RECIPES = tuple(
    Recipe(
        gpu, engine, versions, ("fp8_block",) if (gpu, engine) in {("h200-sxm", "vllm"), ("b200-sxm", "vllm")} else ()
    )
    for gpu in GPUS
    for engine, versions in (("trtllm", TRTLLM), ("vllm", VLLM), ("sglang", SGLANG))
)


def package_data() -> Path | None:
    """The data folder of the installed package, found without importing it."""
    spec = importlib.util.find_spec("aiconfigurator_core")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "systems" / "data"


def missing(recipe: Recipe) -> str:
    """Why a profile cannot be rebuilt here; empty when it can."""
    if package_data() is None:
        return f"{PACKAGE} is not installed (pip install --no-deps 'aiconfigurator-core==0.12.0')"
    if recipe.shared_gemm and not SHARED_GEMM.exists():
        return f"no file {SHARED_GEMM}"
    return ""


def measurements(recipe: Recipe) -> Tables:
    """All kernel measurements that a recipe names."""
    data = package_data()
    if data is None:
        raise ProfileError(missing(recipe))
    tables = read_aiconfigurator(data, recipe.gpu, recipe.engine, recipe.versions)
    if recipe.engine == "vllm":
        tables["gemm"] = tables["gemm"][tables["gemm"]["dtype"] != "fp8_block"]
    if recipe.engine == "vllm" and recipe.gpu in BLACKWELL:
        borrowed = read_aiconfigurator(data, recipe.gpu, "trtllm", {"moe": TRTLLM["moe"]})["moe"]
        own = tables["moe"][tables["moe"]["dtype"] != "mxfp4"]
        tables["moe"] = pd.concat([own, borrowed[borrowed["dtype"] == "mxfp4"]], ignore_index=True)
    if recipe.shared_gemm:
        tables = merge([tables, read_shared_gemm(SHARED_GEMM, recipe.gpu, recipe.engine, recipe.shared_gemm, "0.25")])
    return tables


def sources(recipe: Recipe) -> Sources:
    """Where the measurements come from."""
    out = {
        "kernels": Source(
            kind="measured",
            ref=f"{PACKAGE} (Apache-2.0, PyPI), systems/data/{recipe.gpu.replace('-', '_')}, {recipe.engine} "
            f"{recipe.versions['gemm']}: kernel latencies; fitted by calibration.profiles",
            date=READ,
        )
    }
    if recipe.engine == "vllm" and recipe.gpu in BLACKWELL:
        out["experts_mxfp4"] = Source(
            kind="derived",
            ref=f"{PACKAGE}, trtllm {TRTLLM['moe']}: vLLM runs TensorRT-LLM's MXFP4 kernels on 8-bit activations here "
            "(VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8, as benchmarks set it); its own table has 16-bit activations",
            date=READ,
        )
    if recipe.shared_gemm:
        out["gemm_fp8_block"] = Source(
            kind="measured",
            ref="shared/measured/kernels/gemm_vllm.parquet: vLLM 0.25 tables of a later aiconfigurator nightly "
            "(Apache-2.0); the 0.24 rows of fp8_block were timed eagerly",
            date=READ,
        )
    if engine_constants(recipe.engine).source:
        out["constants"] = Source(
            kind="derived",
            ref="calibration.fit_constants on half of the closed-loop groups of shared/measured/serving.csv "
            "(InferenceX, in aiconfigurator@095f58a5), replayed as measured; held-out errors are of the other half",
            date=READ,
        )
    return out


def build(recipe: Recipe) -> Profile:
    """Fit one profile."""
    versions = dict(recipe.versions) | ({"gemm_fp8_block": "0.25"} if recipe.shared_gemm else {})
    header = Header(recipe.gpu, recipe.engine, READ.isoformat(), versions, sources(recipe))
    constants = engine_constants(recipe.engine)
    profile = fit_profile(header, measurements(recipe), constants, held_out(recipe.gpu, recipe.engine))
    return with_sources(profile.model_copy(update={"left_out": left_out(recipe.engine)}), header.sources)


def with_sources(profile: Profile, known: Sources) -> Profile:
    """The tables that came from elsewhere name their source."""

    def named(tables: tuple[Any, ...], part: str) -> tuple[Any, ...]:
        return tuple(
            table.model_copy(update={"source": key}) if (key := f"{part}_{table.dtype}") in known else table
            for table in tables
        )

    return profile.model_copy(
        update={"linear": named(profile.linear, "gemm"), "experts": named(profile.experts, "experts")}
    )


def dump(profile: Profile) -> str:
    """The committed form: one table a line."""
    data = {"schema_version": profile.schema_version} | json.loads(profile.model_dump_json(exclude_defaults=True))
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and key not in ("held_out", "left_out"):
            rows = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in value)
            lines.append(f' "{key}": [\n{rows}\n ]')
        else:
            lines.append(f' "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: list[str] | None = None) -> int:
    """Rebuild the profiles whose name contains one of the words given (all without any)."""
    parser = argparse.ArgumentParser(prog="python -m calibration.profiles", description=__doc__)
    parser.add_argument("words", nargs="*", help="parts of profile names, such as h200 or vllm")
    words = parser.parse_args(arguments).words
    for recipe in RECIPES:
        name = f"{recipe.gpu}-{recipe.engine}"
        if words and not any(word in name for word in words):
            continue
        why = missing(recipe)
        if why:
            sys.stderr.write(f"{name}: left as it is: {why}\n")
            continue
        text = dump(build(recipe))
        file = FOLDER / f"{name}.json"
        moved = not file.exists() or file.read_text(encoding="utf-8") != text
        file.write_text(text, encoding="utf-8")
        sys.stderr.write(f"{name}: {'written anew' if moved else 'unchanged'}, {len(text) / 1e3:.0f} kB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
