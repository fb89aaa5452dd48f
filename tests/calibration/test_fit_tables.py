"""Experts and collectives: kept at their knots, monotone, and in bytes."""

import numpy as np
import pandas as pd
import pytest

from calibration.fit_collectives import fit_all_reduce
from calibration.fit_linear import fit_table, predict
from calibration.fit_moe import fit_moe
from calibration.kernels import ALL_REDUCE_ELEMENT_BYTES, _all_reduce, check, merge, read_measurements
from calibration.mla import without_projections
from simulator.errors import ProfileError
from tests.calibration.synthetic import gemm, plant


def moe(shape=(7168, 2048, 256, 8), skew=1.01, split=(1, 8)):
    names = ["hidden", "intermediate", "experts", "top_k"]
    tokens = [1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
    rows = pd.DataFrame({"tokens": tokens, "latency_us": [30.0 + 2.0 * min(t, 64) + 0.05 * t for t in tokens]})
    return rows.assign(**dict(zip(names, shape, strict=True)), dtype="fp8_block", tp=split[0], ep=split[1], skew=skew)


def all_reduce(mode="graph"):
    sizes = [2**i for i in range(8, 29)]
    return pd.DataFrame({"gpus": 8, "mode": mode, "bytes": sizes, "latency_us": [4.0 + b * 4e-6 for b in sizes]})


def test_experts_keep_their_latencies_by_tokens():
    (table,), fit_error, _ = fit_moe(moe())

    assert table.us[table.tokens.index(64)] == pytest.approx(30 + 128 + 3.2, rel=0.01)
    assert (table.tensor_parallel, table.expert_parallel) == (1, 8)
    assert fit_error.median_ape < 0.01


def test_a_spike_among_tokens_does_not_show():
    rows = moe()
    rows.loc[rows["tokens"] == 64, "latency_us"] *= 4.0
    (table,), _, _ = fit_moe(rows)

    assert table.us[table.tokens.index(64)] == pytest.approx(161.0, rel=0.15)


def test_other_shapes_splits_and_skews_are_left_out():
    others = [moe(shape=(1, 2, 3, 4)), moe(skew=0.0), moe(split=(32, 1))]
    tables, _, _ = fit_moe(pd.concat([moe(), *others]))

    assert len(tables) == 1


def test_an_all_reduce_of_two_byte_elements_is_kept_in_bytes(tmp_path):
    raw = pd.DataFrame(
        {
            "num_gpus": [8, 8],
            "kernel_source": ["vLLM_custom_graph", "TRTLLM"],
            "message_size": [1024, 1024],
            "latency": [0.005, 0.004],
        }
    )
    raw.to_parquet(tmp_path / "custom_allreduce_perf.parquet")
    found = _all_reduce(tmp_path)["all_reduce"]

    assert found["bytes"].tolist() == [1024 * ALL_REDUCE_ELEMENT_BYTES] * 2
    assert found["mode"].tolist() == ["graph", "graph"]
    assert found["latency_us"].tolist() == pytest.approx([5.0, 4.0])


def test_all_reduce_tables_are_by_gpus_and_mode():
    tables, fit_error, samples = fit_all_reduce(pd.concat([all_reduce(), all_reduce("eager")]))

    assert [(t.gpus, t.mode) for t in tables] == [(8, "eager"), (8, "graph")]
    assert tables[1].us[0] == pytest.approx(4.0, rel=0.01)
    assert (fit_error.median_ape < 0.01, samples) == (True, 42)


def test_spikes_do_not_move_an_all_reduce():
    clean, _, _ = fit_all_reduce(all_reduce())
    spiked, _, _ = fit_all_reduce(plant(all_reduce(), share=0.1, seed=5))

    assert np.median(np.abs(np.array(spiked[0].us) / np.array(clean[0].us) - 1.0)) < 0.01


def test_a_module_less_its_projections_is_its_attention():
    bf16 = fit_table(gemm(), "bf16")
    one = np.ones(1)
    shapes = [(2112, 7168), (16 * 192, 1536), (16 * 256, 512), (7168, 16 * 128)]
    projections = sum(predict(bf16, n * one, k * one, 4 * one)[0] for n, k in shapes)
    rows = pd.DataFrame({"kind": ["mla_module"], "heads": [16], "latency_us": [projections + 12.0]})
    found = without_projections(rows, bf16, 4 * one)

    assert found["kind"].tolist() == ["mla"]
    assert found["latency_us"][0] == pytest.approx(max(12.0, 0.2 * (projections + 12.0)))


def test_our_own_measurements_are_read_in_the_common_format(tmp_path):
    rows = all_reduce().assign(op="all_reduce", gpu="h200-sxm", engine="vllm", version="x")
    rows.to_csv(tmp_path / "mine.csv", index=False)
    found = read_measurements(tmp_path / "mine.csv")

    assert list(found) == ["all_reduce"]
    assert found["all_reduce"]["bytes"].tolist() == rows["bytes"].tolist()


def test_merged_tables_hold_all_rows():
    assert len(merge([{"gemm": gemm()}, {"gemm": gemm()}])["gemm"]) == 2 * len(gemm())


@pytest.mark.parametrize(
    ("op", "change", "said"),
    [
        ("conv", {}, "unknown operation 'conv'"),
        ("all_reduce", {"bytes": None}, "lacks the columns bytes"),
        ("all_reduce", {"latency_us": 0.0}, "not above 0"),
    ],
)
def test_a_bad_table_is_refused_by_name(op, change, said):
    rows = all_reduce().assign(gpu="g", engine="e", version="v")
    for name, value in change.items():
        rows = rows.drop(columns=name) if value is None else rows.assign(**{name: value})

    with pytest.raises(ProfileError, match=said):
        check(op, rows, "here")
