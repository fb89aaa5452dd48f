"""GPUs and their links: memory, peaks, measured efficiencies, collectives."""

import pytest

from simulator.catalog import load
from simulator.spec.hardware import CollectiveTable

GPUS = [name for name in load.names("gpus") if load.load_gpu(name).architecture != "cpu"]
TABLES = [
    pytest.param(table, id=f"{gpu}-{kernel}-{num_gpus}")
    for gpu in GPUS
    for links in [load.load_links(load.load_gpu(gpu).links)]
    for kernel, by_gpus in [*links.all_reduce.items(), *links.all_gather.items()]
    for num_gpus, table in by_gpus.items()
]


@pytest.mark.parametrize(
    ("name", "driver_mib", "visible_gib"),
    [
        ("h100-sxm", 81_559, 79.18),
        ("h200-sxm", 143_771, 139.80),
        ("b200-sxm", 183_359, 178.35),
        ("b300-sxm", 275_040, 267.69),
    ],
)
def test_memory_is_what_driver_and_cuda_report(name: str, driver_mib: int, visible_gib: float) -> None:
    memory = load.load_gpu(name).memory

    assert (memory.driver_mib, memory.cuda_visible_gib) == (driver_mib, visible_gib)


@pytest.mark.parametrize("name", GPUS)
def test_cuda_sees_a_little_less_than_the_driver(name: str) -> None:
    memory = load.load_gpu(name).memory

    assert 0.99 < memory.visible_bytes / memory.driver_bytes < 1.0


@pytest.mark.parametrize(
    ("gpu", "engine", "dtype", "fractions"),
    [
        ("h200-sxm", "vllm", "bf16", (0.58, 0.74, 0.83)),
        ("h200-sxm", "vllm", "fp8", (0.31, 0.53, 0.74)),
        ("h200-sxm", "trtllm", "fp8", (0.21, 0.42, 0.63)),
        ("b200-sxm", "vllm", "nvfp4", (0.12, 0.32, 0.54)),
        ("b200-sxm", "trtllm", "nvfp4", (0.09, 0.21, 0.37)),
    ],
)
def test_decode_gemms_reach_the_measured_share_of_bandwidth(
    gpu: str, engine: str, dtype: str, fractions: tuple[float, ...]
) -> None:
    linear = {name: dict(by_dtype) for name, by_dtype in load.load_gpu(gpu).linear.items()}

    assert linear[engine][dtype].bandwidth_fraction == pytest.approx(fractions, abs=0.006)  # type: ignore[index]


@pytest.mark.parametrize("name", GPUS)
def test_each_gpu_prices_each_fast_dtype_for_each_measured_engine(name: str) -> None:
    gpu = load.load_gpu(name)

    assert set(gpu.linear) == {"vllm", "trtllm"}
    assert all(set(by_dtype) == set(gpu.compute.tflops) for by_dtype in gpu.linear.values())


@pytest.mark.parametrize("name", GPUS)
def test_more_rows_never_take_less_time(name: str) -> None:
    ratios = [e.row_latency_ratio for by_dtype in load.load_gpu(name).linear.values() for e in by_dtype.values()]

    assert all((1.0, *ratio) == tuple(sorted((1.0, *ratio))) for ratio in ratios)


@pytest.mark.parametrize("name", ["b300-sxm"])
def test_blackwell_ultra_has_no_fast_int8(name: str) -> None:
    assert "int8" not in load.load_gpu(name).compute.tflops
    assert "blackwell_ultra" not in load.load_quantisation("int8").compute


@pytest.mark.parametrize(
    ("gpu", "point"),
    [("h200-sxm", (8, 4096, 2.93)), ("h200-sxm", (64, 4096, 4.20)), ("b200-sxm", (32, 4096, 6.34))],
)
def test_decode_attention_holds_the_measured_points(gpu: str, point: tuple[int, int, float]) -> None:
    attention = load.load_gpu(gpu).attention

    assert point in attention.points
    assert attention.layer_kv_bytes_per_token == 2 * 8 * 128 * 2


def test_attention_points_fall_back_from_engine_to_vllm_to_bf16() -> None:
    attention = load.load_gpu("h200-sxm").attention

    assert attention.points_for("trtllm", "fp8") == attention.tables["trtllm"]["fp8"]
    assert attention.points_for("sglang", "fp8") == attention.tables["vllm"]["fp8"]
    assert attention.points_for("sglang", "bf16") == attention.points
    assert attention.layer_kv_bytes_for("fp8") == 2048


@pytest.mark.parametrize("name", GPUS)
def test_longer_contexts_and_batches_never_take_less_attention_time(name: str) -> None:
    points = load.load_gpu(name).attention.points

    seconds = [b * c / rate for b, c, rate in points]

    assert all(
        t1 <= t2 * 1.01
        for t1, (b1, c1, _) in zip(seconds, points, strict=True)
        for t2, (b2, c2, _) in zip(seconds, points, strict=True)
        if b1 <= b2 and c1 <= c2
    )


@pytest.mark.parametrize("table", TABLES)
def test_a_collective_never_gets_faster_with_size(table: CollectiveTable) -> None:
    assert len(table.bytes) == len(table.us)
    assert list(table.bytes) == sorted(set(table.bytes))
    assert list(table.us) == sorted(table.us)


def test_small_all_reduces_are_slower_on_b200_than_on_h200() -> None:
    def at_16_kb(gpu: str) -> float:
        table = load.load_links(gpu).all_reduce["vllm_graph"][8]
        return table.us[table.bytes.index(16_384)]

    assert (at_16_kb("h200-sxm"), at_16_kb("b200-sxm")) == (5.15, 8.07)


@pytest.mark.parametrize("name", GPUS)
def test_all_collectives_that_engines_name_are_there(name: str) -> None:
    kernels = load.load_links(load.load_gpu(name).links).all_reduce

    overheads = [load.load_engine(engine).overhead for engine in load.names("engines")]

    assert {o.all_reduce for o in overheads} | {o.all_reduce_eager for o in overheads} <= set(kernels)


def test_what_is_borrowed_is_called_an_assumption() -> None:
    gb200 = load.load_gpu("gb200")

    assert {gb200.sources[k].kind for k in ("memory", "vllm_gemm", "trtllm_gemm", "attention")} == {"assumption"}
    assert load.load_gpu("h200-sxm").sources["int8"].kind == "assumption"
