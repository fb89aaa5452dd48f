"""Price files of clouds and clusters, as prices of single GPUs of the catalog."""

import pytest

from calibration.importers.prices import Asked, read_prices
from simulator.errors import ScenarioError
from tests.calibration.importers.price_samples import HEADER, NEBIUS, REGIONS, RUNPOD, SLURM, VERDA

H200 = "gpu-h200,H200,8,128,1600,28.00,eu-north1,{info},11.60\n"


def read(folder, text, **asked):
    path = folder / "vms.csv"
    path.write_text(text, encoding="utf-8")
    return read_prices(path, Asked(**asked))


def by_gpu(found):
    return {offer.gpu: offer.usd_per_gpu_hour for offer in found.offers}


def test_an_instances_price_is_shared_out_over_its_gpus(tmp_path):
    found = read(tmp_path, NEBIUS)

    assert by_gpu(found) == {"b200-sxm": 5.5, "h100-sxm": 2.95, "h200-sxm": 3.5}
    assert found.left_out == {"L40S": "no GPU of the catalog is called so"}
    assert found.offers[0].words == "gpu-b200-sxm_8gpu-160vcpu-1792gb (8 GPUs, us-central1)"


def test_spot_prices_are_of_what_has_one(tmp_path):
    found = read(tmp_path, NEBIUS, spot=True)

    assert by_gpu(found) == {"h100-sxm": 1.25, "h200-sxm": 1.45}
    assert found.left_out["B200"] == "no SpotPrice for it"


def test_gpu_info_may_be_json_and_counts_may_be_decimal(tmp_path):
    assert by_gpu(read(tmp_path, VERDA)) == {"b300-sxm": 6.99}
    assert by_gpu(read(tmp_path, VERDA, spot=True)) == {"b200-sxm": pytest.approx(3.423 / 2), "b300-sxm": 2.447}


def test_boards_are_told_apart_and_sizes_may_be_in_gigabytes(tmp_path):
    found = read(tmp_path, RUNPOD)

    assert by_gpu(found) == {"h100-sxm": 2.69, "h200-sxm": 3.59}
    assert found.left_out == {"H100": "another board than h100-sxm (PCIe or NVL)"}


def test_of_the_zones_of_a_region_the_cheapest_is_taken_and_told(tmp_path):
    found = read(tmp_path, RUNPOD, spot=True)

    assert by_gpu(found)["h200-sxm"] == 2.19
    assert found.notes == (
        "h200-sxm: of 2 lines from 2.19 to 2.29 USD per GPU-hour, the cheapest of the largest instances is taken "
        "(1 GPU): a replica needs its GPUs in one machine",
    )


def test_prices_that_differ_by_region_are_refused_until_one_is_chosen(tmp_path):
    with pytest.raises(ScenarioError, match=r"h200-sxm has 2 prices .*: eu-west-2 8\.9, us-east-1 7\.912; choose one"):
        read(tmp_path, REGIONS)

    assert by_gpu(read(tmp_path, REGIONS, region="eu-west-2")) == {"h200-sxm": 8.9}
    assert by_gpu(read(tmp_path, REGIONS, cheapest=True)) == {"h200-sxm": 7.912}


def test_of_the_sizes_of_an_instance_the_largest_is_taken(tmp_path):
    found = read(tmp_path, REGIONS, region="us-east-1")

    assert [(offer.num_gpus, offer.usd_per_gpu_hour) for offer in found.offers] == [(8, 7.912)]
    assert "from 7.912 to 9.5" in found.notes[0]


def test_a_zone_can_be_asked_for(tmp_path):
    assert by_gpu(read(tmp_path, RUNPOD, spot=True, region="US-TX-3")) == {"h200-sxm": 2.19}


def test_one_gpu_can_be_asked_for(tmp_path):
    assert by_gpu(read(tmp_path, NEBIUS, gpus=("h200-sxm",))) == {"h200-sxm": 3.5}


def test_an_accelerator_of_another_name_can_be_told(tmp_path):
    text = HEADER + "big,H100-NVLINK,4,64,512,12.0,here,,\n"

    assert by_gpu(read(tmp_path, text, accelerators={"H100-NVLINK": "h100-sxm"})) == {"h100-sxm": 3.0}


def test_a_clusters_prices_are_of_the_gpu_and_of_what_goes_with_it(tmp_path):
    found = read(tmp_path, SLURM, vcpus=16, memory_gb=200)

    assert by_gpu(found) == {"b200-sxm": 2.7, "h200-sxm": pytest.approx(1.9 + 16 * 0.01 + 200 * 0.001)}
    assert all(offer.cluster for offer in found.offers)
    assert found.offers[0].words == "B200 (ours)"


MALFORMED = {
    "empty": ("", "vms.csv:1: no header"),
    "binary": (b"\xff\xfe\x00\x01", "not a CSV file in UTF-8"),
    "another-file": ("TIMESTAMP,ContextTokens,GeneratedTokens\n", "neither SkyPilot's vms.csv (columns"),
    "json": ('{"prices": []}\n', "neither SkyPilot's vms.csv"),
    "no-price-column": (NEBIUS.replace(",Price,", ",Cost,"), "neither SkyPilot's vms.csv"),
    "column-twice": (NEBIUS.replace("vCPUs,MemoryGiB", "Price,MemoryGiB"), "column Price stands twice"),
    "header-alone": (HEADER, "no rows"),
    "no-accelerator": (HEADER + "cpu,,0,4,16,0.1,eu,,\n", "no line prices an accelerator"),
    "none-of-ours": (HEADER + "a,A100,8,96,900,20,eu,,\n", "A100 (no GPU of the catalog is called so); say which GPU"),
    "cells-missing": (HEADER + "a,H200,8,96,900,28\n", "vms.csv:2: fewer cells than the header"),
    "cells-beyond": (HEADER + "a,H200,8,96,900,28,eu,,11,extra\n", "vms.csv:2: more cells than the header"),
    "price-in-words": (HEADER + "a,H200,8,96,900,$28,eu,,\n", "vms.csv:2: Price: '$28' is not a number"),
    "price-of-nothing": (HEADER + "a,H200,8,96,900,0,eu,,\n", "Price: '0' is not above 0"),
    "price-below-nothing": (HEADER + "a,H200,8,96,900,-28,eu,,\n", "Price: '-28' is not above 0"),
    "price-without-end": (HEADER + "a,H200,8,96,900,inf,eu,,\n", "Price: 'inf' is not a number"),
    "no-price": (HEADER + "a,H200,8,96,900,,eu,,\n", "no price of a GPU of the catalog: H200 (no Price for it)"),
    "no-count": (HEADER + "a,H200,,96,900,28,eu,,\n", "AcceleratorCount: '' is not a whole number of GPUs"),
    "half-a-gpu": (HEADER + "a,H200,0.5,96,900,28,eu,,\n", "AcceleratorCount: '0.5' is not a whole number"),
    "count-of-none": (HEADER + "a,H200,0,96,900,28,eu,,\n", "AcceleratorCount: '0' is not above 0"),
    "broken-info": (HEADER + H200.format(info='"{\'Gpus\': ["'), "GpuInfo: \"{'Gpus': [\" is neither a Python literal"),
    "code-in-info": (HEADER + H200.format(info="__import__('os').getcwd()"), "is neither a Python literal nor JSON"),
    "quote-left-open": (HEADER + 'a,"H200,8,96,900,28,eu,,\n', "not a CSV file in UTF-8: unexpected end of data"),
    "another-memory": (
        HEADER + H200.format(info="\"{'Gpus': [{'Name': 'H200', 'MemoryInfo': {'SizeInMiB': 18432}}]}\""),
        "H200 (GpuInfo says 18,432 MiB, where h200-sxm has 143,771)",
    ),
    "slurm-unsaid": (SLURM, "vms.csv:2: PricePerVCPU: 0.01 is charged beside the GPU: say how much goes with one"),
    "slurm-negative": (SLURM.replace("0.01,", "-1,"), "PricePerVCPU: '-1' is below 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_file_that_does_not_say_it_is_refused(name, tmp_path):
    content, part = MALFORMED[name]
    path = tmp_path / "vms.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(ScenarioError) as error:
        read_prices(path, Asked())

    assert str(error.value).startswith(str(path))
    assert part in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"region": "mars"}, "no price in --region mars; known: eu-north1, us-central1"),
        ({"gpus": ("gb200",)}, "no price of gb200; it prices b200-sxm, h100-sxm, h200-sxm"),
    ],
)
def test_what_the_file_does_not_have_is_told_with_what_it_has(asked, part, tmp_path):
    with pytest.raises(ScenarioError) as error:
        read(tmp_path, NEBIUS, **asked)

    assert part in str(error.value)


def test_a_cluster_has_no_spot_prices(tmp_path):
    with pytest.raises(ScenarioError, match="a cluster's prices have no spot price"):
        read(tmp_path, SLURM, spot=True)
