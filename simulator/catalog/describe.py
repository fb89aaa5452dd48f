"""What the catalog holds, as flat rows for a table."""

from collections.abc import Callable

from simulator.catalog.load import (
    NOUNS,
    load_acceptance,
    load_engine,
    load_gpu,
    load_lengths,
    load_links,
    load_model,
    load_price_list,
    load_profile,
    load_quantisation,
    names,
    origin,
)
from simulator.errors import CatalogError
from simulator.spec.policy import AcceptancePreset
from simulator.spec.sources import Sources

Row = dict[str, str | int | float]
"""Name, key figures, and the source of the figures with its date."""


def describe(kind: str) -> list[Row]:
    """Rows of one folder of the catalog: a row a file, or a row a price.

    >>> [row["name"] for row in describe("engines")]
    ['sglang', 'specfleet', 'trtllm', 'vllm']
    """
    if kind not in ROWS:
        raise CatalogError(f"no folder {kind!r} in the catalog; known: {', '.join(NOUNS)}")
    return [row | _own_file(kind, name) for name in names(kind) for row in ROWS[kind](name)]


def _own_file(kind: str, name: str) -> Row:
    """Where an entry of the user's own catalog lies; nothing for those of the package."""
    where = origin(kind, name)
    return {} if where == "package" else {"own_file": where}


def _sourced(row: Row, sources: Sources, key: str) -> Row:
    source = sources[key]
    return {**row, "kind": source.kind, "source": source.ref, "date": source.date.isoformat() if source.date else ""}


def _gpu(name: str) -> list[Row]:
    gpu = load_gpu(name)
    row: Row = {
        "name": name,
        "title": gpu.title,
        "visible_gib": gpu.memory.cuda_visible_gib,
        "bandwidth_tb_per_s": gpu.memory.bandwidth_tb_per_s,
        "bf16_tflops": gpu.compute.tflops["bf16"],
        "node_gpus": gpu.node_gpus,
        "watts": gpu.power.watts,
    }
    return [_sourced(row, gpu.sources, gpu.memory.source)]


def _links(name: str) -> list[Row]:
    links = load_links(name)
    row: Row = {"name": name, "collectives": ", ".join(links.all_reduce)}
    for link, point in links.point_to_point.items():
        row[f"{link}_gb_per_s"] = point.gb_per_s
    return [_sourced(row, links.sources, links.source)]


def _model(name: str) -> list[Row]:
    model = load_model(name)
    row: Row = {
        "name": name,
        "hf_id": model.hf_id,
        "params_b": model.published.total_b if model.published else "",
        "layers": model.num_layers,
        "hidden_size": model.hidden_size,
        "kv_heads": model.num_kv_heads,
        "experts": model.moe.num_experts if model.moe else 0,
        "attention": model.attention,
        "max_position": model.max_position,
    }
    return [_sourced(row, model.sources, model.source)]


def _engine(name: str) -> list[Row]:
    engine = load_engine(name)
    row: Row = {
        "name": name,
        "title": engine.title,
        "max_num_seqs": engine.scheduler.max_num_seqs,
        "max_num_batched_tokens": engine.scheduler.max_num_batched_tokens,
        "kv_block_tokens": engine.scheduler.kv_block_tokens,
        "memory_fraction": engine.memory.memory_fraction,
        "step_ms": engine.overhead.unfitted_step.seconds * 1e3,
    }
    return [_sourced(row, engine.sources, engine.memory.source)]


def _quantisation(name: str) -> list[Row]:
    weights = load_quantisation(name)
    compute = ", ".join(f"{where}: {dtype}" for where, dtype in weights.compute.items())
    row: Row = {"name": name, "bits_per_weight": weights.bits_per_weight, "compute": compute}
    return [_sourced(row, weights.sources, weights.source)]


def _prices(name: str) -> list[Row]:
    listed = load_price_list(name)
    return [
        _sourced(
            {
                "name": name,
                "gpu": price.gpu,
                "usd_per_gpu_hour": price.usd_per_gpu_hour,
                "basis": listed.basis,
                "sku": price.sku,
                "as_of": price.as_of,
            },
            listed.sources,
            price.source,
        )
        for price in listed.prices
    ]


def _acceptance(name: str) -> list[Row]:
    preset = load_acceptance(name)
    curve = {f"k{k}": length for k, length in (preset.tokens_per_step or _mean_at(preset)).items()}
    return [_sourced({"name": name, "title": preset.title, **curve}, preset.sources, preset.source)]


def _mean_at(preset: AcceptancePreset) -> dict[int, float]:
    """K of a histogram, and the mean tokens per step there."""
    counts = preset.histogram or {}
    accepted = sum(j * n for j, n in counts.items())
    return {max(counts): round(1.0 + accepted / sum(counts.values()), 4)}


def _lengths(name: str) -> list[Row]:
    table = load_lengths(name)
    row: Row = {
        "name": name,
        "title": table.title,
        "prompt_p50": table.prompt_quantiles[len(table.prompt_quantiles) // 2],
        "prompt_max": table.prompt_quantiles[-1],
        "bins": len(table.output_quantiles),
    }
    return [_sourced(row, table.sources, table.source)]


def _profile(name: str) -> list[Row]:
    """A measured profile: error of its tables, and on rows that no constant was fitted on."""
    gpu, _, engine = name.rpartition("-")
    profile = load_profile(gpu, engine)
    assert profile is not None
    row: Row = {
        "name": name,
        "gpu": profile.gpu,
        "engine": profile.engine,
        "measurements": sum(profile.samples.values()),
        **{f"{part}_error": error.median_ape for part, error in profile.fit_error.items()},
    }
    for metric in ("tpot", "ttft"):
        errors = [error.median_ape for group in profile.held_out if (error := getattr(group, metric)) is not None]
        row[f"held_out_{metric}"] = round(sum(errors) / len(errors), 4) if errors else ""
    return [_sourced(row, profile.sources, profile.source)]


ROWS: dict[str, Callable[[str], list[Row]]] = {
    "gpus": _gpu,
    "links": _links,
    "models": _model,
    "engines": _engine,
    "quantisation": _quantisation,
    "prices": _prices,
    "acceptance": _acceptance,
    "lengths": _lengths,
    "profiles": _profile,
}
"""Folder → rows of one of its files."""
