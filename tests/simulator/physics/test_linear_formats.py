"""Weight formats: which bytes are read and which kernels run them."""

import pytest

from simulator.catalog.load import load_engine, load_gpu, load_quantisation
from simulator.errors import CatalogError
from simulator.physics.formats import linear_efficiency, peak_flop_per_s, weight_format

H200, B200, VLLM = load_gpu("h200-sxm"), load_gpu("b200-sxm"), load_engine("vllm")
WEIGHTS = 67e6


def test_weight_only_int4_reads_its_own_bytes_but_computes_in_bf16():
    int4 = weight_format(H200, VLLM, load_quantisation("awq_int4"))
    bf16 = weight_format(H200, VLLM, None)

    assert int4.gemm_s(WEIGHTS, 1) < bf16.gemm_s(WEIGHTS, 1) / 2
    assert int4.gemm_s(WEIGHTS, 4096) == bf16.gemm_s(WEIGHTS, 4096)


def test_nvfp4_computes_in_bf16_on_hopper_and_natively_on_blackwell():
    nvfp4 = load_quantisation("nvfp4")
    hopper, blackwell = (weight_format(gpu, VLLM, nvfp4).curve.flop_per_s for gpu in (H200, B200))

    assert hopper == pytest.approx(989e12 * 0.79)
    assert blackwell == pytest.approx(9000e12 * 0.431)


def test_an_engine_without_a_table_borrows_that_of_vllm():
    assert linear_efficiency(H200, "sglang", "fp8") is H200.linear["vllm"]["fp8"]


def test_a_dtype_that_nobody_measured_is_an_error_that_names_what_exists():
    with pytest.raises(CatalogError, match=r"h200-sxm: no linear layers measured for vllm nvfp4; known: .*vllm fp8"):
        linear_efficiency(H200, "vllm", "nvfp4")


def test_a_dtype_without_tensor_cores_is_an_error():
    with pytest.raises(CatalogError, match=r"h200-sxm has no nvfp4 tensor cores; it has: bf16"):
        peak_flop_per_s(H200, "nvfp4")


def test_a_format_that_the_architecture_does_not_serve_is_an_error():
    with pytest.raises(CatalogError, match="weight format int8: no compute dtype for b300-sxm"):
        weight_format(load_gpu("b300-sxm"), VLLM, load_quantisation("int8"))
