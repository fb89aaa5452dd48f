"""Collectives: measured tables within a node, an estimate beyond it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.catalog.load import load_links
from simulator.errors import CatalogError
from simulator.physics.communication import CollectiveCurve, Group, all_reduce_curve, link, ring_s
from simulator.spec.hardware import CollectiveTable, Links

H200, B200 = load_links("h200-sxm"), load_links("b200-sxm")
SIZES = st.floats(1, 1e9)


def group(num_gpus, links=H200, kernel="vllm_graph"):
    return Group(links, num_gpus, 8, (kernel, "vllm_eager"))


def bare_links(**parts):
    tables = {"all_reduce": {}, "point_to_point": {}} | parts
    return Links(name="bare", source="s", sources={}, **tables)


def test_an_all_reduce_between_two_measured_sizes_is_interpolated():
    assert group(2).all_reduce_s(48 * 1024, eager=False) == pytest.approx((4.62 + 4.82) / 2 * 1e-6)


def test_a_small_message_takes_the_latency_of_the_smallest_size():
    assert group(2).all_reduce_s(8, eager=False) == pytest.approx(4.38e-6)


def test_beyond_the_table_the_last_slope_goes_on():
    slope = (144.85e-6 - 42.99e-6) / (33554432 - 8388608)

    assert group(2).all_reduce_s(2 * 33554432, eager=False) == pytest.approx(144.85e-6 + 33554432 * slope)


def test_small_all_reduces_are_slower_on_b200_than_on_h200():
    hopper, blackwell = (group(8, links).all_reduce_s(16384, eager=False) for links in (H200, B200))

    assert blackwell > 1.4 * hopper


def test_an_eager_all_reduce_waits_for_its_launch():
    assert group(4).all_reduce_s(16384, eager=True) > 20e-6


@given(st.sampled_from([2, 4, 8, 16]), SIZES, SIZES, st.booleans())
def test_a_larger_message_is_never_faster(num_gpus, one, other, eager):
    small, large = sorted((one, other))

    assert group(num_gpus).all_reduce_s(small, eager) <= group(num_gpus).all_reduce_s(large, eager) * (1 + 1e-12)


@given(SIZES)
def test_a_launch_outside_a_graph_is_never_faster(size):
    assert group(4).all_reduce_s(size, eager=True) >= group(4).all_reduce_s(size, eager=False)


def test_a_group_over_two_nodes_adds_a_ring_between_them():
    ring = ring_s(1e6 / 8, 2, 6.5e-6, 50e9)

    assert group(16).all_reduce_s(1e6, False) == pytest.approx(group(8).all_reduce_s(1e6, False) + ring)


def test_one_gpu_talks_to_nobody():
    assert group(1).all_reduce_s(1e6, eager=False) == group(1).exchange_s(1e6) == 0.0


def test_an_exchange_is_the_latency_and_the_bytes_over_nvlink():
    assert group(8).exchange_s(376e6) == pytest.approx(2.5e-6 + 1e-3)


def test_a_kernel_without_this_many_gpus_falls_back_to_nccl_and_then_to_the_next_larger_group():
    table = CollectiveTable(bytes=(1, 2), us=(1.0, 2.0))
    links = bare_links(all_reduce={"own": {2: table, 8: table}, "nccl": {4: H200.all_reduce["nccl"][4]}})

    assert all_reduce_curve(links, "own", 4) == all_reduce_curve(H200, "nccl", 4)
    assert all_reduce_curve(links, "own", 5).seconds == (1e-6, 2e-6)


def test_links_without_any_all_reduce_are_an_error():
    with pytest.raises(CatalogError, match="links bare: no all-reduce vllm_graph or nccl; known: none"):
        all_reduce_curve(bare_links(), "vllm_graph", 2)


def test_a_link_that_is_missing_is_an_error():
    with pytest.raises(CatalogError, match="no internode link for a group of 16 GPUs"):
        link(bare_links(), 16, 8)


def test_a_table_of_one_size_is_a_constant():
    assert CollectiveCurve((256.0,), (5e-6,)).seconds_at(1e9) == 5e-6
