"""`specfleet import prices` and `import model`: from a file to the user's own catalog, from there to a run."""

import json
import shutil

import pytest
import yaml

from simulator.catalog import load
from tests.app import toys
from tests.calibration.importers.price_samples import NEBIUS, SLURM
from tests.simulator.catalog.hub.samples import CONFIGS, LLAMA, NESTED, written

PRICE, TARGET = "price: 3.5", "model: llama-3.1-8b"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A working folder with files to import, and a fresh look at the catalog before and after."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPECFLEET_CATALOG", raising=False)
    (tmp_path / "vms.csv").write_text(NEBIUS)
    (tmp_path / "pricing.csv").write_text(SLURM)
    written(tmp_path, LLAMA)
    load.forget()
    yield tmp_path
    load.forget()


def test_a_price_list_is_written_and_priced_with(place):
    imported = toys.call("import", "prices", "vms.csv", "--name", "mine", "--as-of", "2026-10-31")
    (place / "small.yaml").write_text(toys.SMALL.replace(PRICE, "price: {catalog: mine}"))
    estimated = toys.call("estimate", "small.yaml", "--json")

    assert imported.exit_code == 0, imported.stderr
    price = json.loads(estimated.stdout)["provenance"]["prices"]["plain"]
    assert (price["usd_per_gpu_hour"], price["basis"], price["as_of"]) == (3.5, "on_demand", "2026-10-31")
    assert price["source"].startswith("mine, gpu-h200-sxm_8gpu-128vcpu-1600gb (8 GPUs, eu-north1): vms.csv, sha256 ")


def test_the_written_list_says_where_it_comes_from(place):
    toys.call("import", "prices", "vms.csv", "--spot", "--name", "mine-spot")

    entry = yaml.safe_load((place / "specfleet-catalog" / "prices" / "mine-spot.yaml").read_text())
    assert entry["basis"] == "spot"
    assert [price["gpu"] for price in entry["prices"]] == ["h100-sxm", "h200-sxm"]
    assert entry["sources"]["list"]["kind"] == "price_list"


def test_a_clusters_prices_are_the_users_own(place):
    toys.call("import", "prices", "pricing.csv", "--vcpus", "16", "--memory-gb", "200", "--name", "ours")

    entry = yaml.safe_load((place / "specfleet-catalog" / "prices" / "ours.yaml").read_text())
    assert entry["basis"] == "owned"
    assert [price["usd_per_gpu_hour"] for price in entry["prices"]] == [2.7, pytest.approx(2.26)]


@pytest.mark.parametrize("what", [("prices", "vms.csv"), ("model", "config.json")])
def test_a_folder_without_a_name_is_refused_not_ignored(place, what):
    result = toys.call("import", *what, "--out", "mine")

    assert result.exit_code == 2
    assert "add --name NAME" in " ".join(result.stderr.split())


def test_without_a_name_prices_are_only_shown(place):
    shown = toys.call("import", "prices", "vms.csv").stdout

    assert "h200-sxm   $3.5 per GPU-hour  gpu-h200-sxm_8gpu-128vcpu-1600gb (8 GPUs, eu-north1)" in shown
    assert "left out: L40S: no GPU of the catalog is called so" in shown
    assert not (place / "specfleet-catalog").exists()


def test_the_prices_are_json():
    found = json.loads(toys.call("import", "prices", "vms.csv", "--json").stdout)

    assert [offer["usd_per_gpu_hour"] for offer in found["prices"]] == [5.5, 2.95, 3.5]
    assert (found["left_out"]["L40S"], found["written"]) == ("no GPU of the catalog is called so", None)


def test_an_accelerator_is_told_by_an_option(place):
    (place / "vms.csv").write_text(NEBIUS.replace(",B200,", ",NEXT,"))

    found = json.loads(toys.call("import", "prices", "vms.csv", "--accelerator", "NEXT=b200-sxm", "--json").stdout)

    assert {"b200-sxm": 5.5}.items() <= {o["gpu"]: o["usd_per_gpu_hour"] for o in found["prices"]}.items()


def test_a_model_is_written_and_run_with(place):
    imported = toys.call("import", "model", "config.json", "--name", "my-model")
    (place / "mine.yaml").write_text(toys.SMALL.replace(TARGET, "model: my-model"))
    (place / "theirs.yaml").write_text(toys.SMALL)
    rows = [json.loads(toys.call("estimate", name, "--json").stdout)["rows"] for name in ("mine.yaml", "theirs.yaml")]

    assert imported.exit_code == 0, imported.stderr
    assert "8.03 B parameters (7.505 B active per token), 16.06 GB of weights, 131,072 bytes of KV" in imported.stdout
    assert rows[0] == rows[1]


def test_a_model_can_be_named_by_its_file(place):
    (place / "mine.yaml").write_text(toys.SMALL.replace(TARGET, "model: ./config.json"))

    ledger = json.loads(toys.call("memory", "mine.yaml", "--json").stdout)
    by_flag = json.loads(toys.call("memory", "--gpu", "h200-sxm", "--model", "./config.json", "--json").stdout)

    assert ledger["rows"][0]["target_weights_bytes"] == by_flag["rows"][0]["target_weights_bytes"] > 15e9


def test_what_a_scenario_writes_is_told(place):
    written(place, CONFIGS["deepseek-v3"])

    found = json.loads(toys.call("import", "model", "config.json", "--json").stdout)

    assert found["target"] == {"model": "config.json", "weights": "fp8_block"}
    assert (found["parameters"], found["written"]) == (671_026_419_200, None)
    assert "multi-token prediction" in found["notes"][0]


def test_a_model_of_pictures_is_imported_as_its_language_model(place):
    written(place, NESTED)

    shown = toys.call("import", "model", "config.json").stdout

    assert "note: the language model alone" in shown
    assert "target: {model: config.json, weights: bf16}" in shown


def test_an_entry_that_is_there_is_kept(place):
    toys.call("import", "model", "config.json", "--name", "mine")
    before = (place / "specfleet-catalog" / "models" / "mine.yaml").read_text()
    written(place, CONFIGS["qwen3-8b"])

    again = toys.call("import", "model", "config.json", "--name", "mine")
    forced = toys.call("import", "model", "config.json", "--name", "mine", "--force")

    assert (again.exit_code, forced.exit_code) == (2, 0)
    assert "is there already" in again.stderr
    assert load.load_model("mine").num_layers == 36
    assert before != (place / "specfleet-catalog" / "models" / "mine.yaml").read_text()


def test_another_folder_is_told_to_be_read(place):
    shown = toys.call("import", "model", "config.json", "--name", "mine", "--out", "elsewhere").stdout

    assert "elsewhere/models/mine.yaml is written. It is read where SPECFLEET_CATALOG=elsewhere is set." in shown


def test_a_summary_is_the_same_bytes_wherever_it_is_made(place, tmp_path_factory, monkeypatch):
    toys.call("import", "prices", "vms.csv", "--name", "mine")
    (place / "gate.yaml").write_text(
        toys.SMALL.replace(PRICE, "price: {catalog: mine}").replace(TARGET, "model: x.json")
    )
    written(place, LLAMA, "x.json")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(place, elsewhere)

    summaries = []
    for folder in (place, elsewhere):
        monkeypatch.chdir(folder)
        load.forget()
        assert toys.call("run", "gate.yaml", "--jobs", "1").exit_code == 0
        summaries.append(next(folder.glob("runs/*/summary.json")).read_bytes())

    assert summaries[0] == summaries[1]
    assert b"specfleet-catalog/prices/mine.yaml" in summaries[0]
