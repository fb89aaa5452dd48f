"""From a file of measurements to a device in the user's catalog that scenarios plan with."""

import json

import pytest

from calibration import device_catalog
from calibration.device_catalog import measurements_file, write_device
from calibration.device_entries import entry_name
from calibration.device_run import fit_file
from calibration.fit_device import fit_device
from calibration.measuring.noise import report
from scenarios.load import load_scenario
from scenarios.store import catalog_hash, point_hash
from simulator.catalog import load
from simulator.errors import CatalogError, ProfileError
from simulator.physics.ledger import memory_ledger
from simulator.planning.estimate import estimate
from simulator.planning.provenance import provenance
from tests.calibration.synthetic_device import measurements

SCENARIO = """\
schema_version: 1
name: own-cpu
description: Does a look-up pay on this machine?
seed: 1
replications: 1
workload:
  arrivals: {kind: poisson, rate_per_s: 0.5}
  lengths: {kind: fixed, prompt_tokens: 100, output_tokens: 40}
  horizon: {requests: 60, warmup_requests: 5}
deployments:
  spec:
    gpu: test-cpu
    replicas: 1
    price: {usd_per_gpu_hour: 0.1, basis: assumption, source: a guess, as_of: 2026-11-30}
    target: {model: smollm2-135m, weights: fp32, kv: fp32}
    engine: {policy: specfleet, max_model_len: 2048}
    speculation:
      kind: drafts
      drafts: {it: {measured: lookup, acceptance: {all: {survival: [0.6, 0.4, 0.3]}}}}
      propose: {draft_tokens: 3}
"""


def complete(**changes):
    data = measurements(**changes)
    return data | {"noise": report(data), "complete": True}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """An empty catalog of the user's own; what was read of it is forgotten afterwards."""
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.setenv("SPECFLEET_CATALOG", str(folder))
    load.forget()
    catalog_hash.cache_clear()
    yield folder
    monkeypatch.undo()
    load.forget()
    catalog_hash.cache_clear()


def test_the_fit_tells_how_far_it_is_off_on_steps_that_it_never_saw():
    surface = fit_device(complete(noise=0.01, outliers=0.02), "test-cpu").surface

    assert surface.held_out["step"].count >= 14
    assert surface.held_out["step"].mean_ape < 0.03
    assert {"linear", "attention", "draft", "step"} <= set(surface.fit_error)


def test_a_device_that_is_not_what_the_tables_can_hold_shows_in_the_held_out_error():
    data = complete()
    for key, visits in data["visits"].items():
        if key.endswith("-held"):
            for visit in visits:
                for step in visit:
                    step[7] *= 2

    surface = fit_device(data, "test-cpu").surface

    assert surface.held_out["step"].mean_ape > 0.2 > 0.03 > surface.fit_error["step"].mean_ape


def test_a_fitted_device_is_in_the_catalog_and_scenarios_run_on_it(own):
    write_device(fit_device(complete(), "test-cpu"), own, force=False)

    scenario = load_scenario("own.yaml", (), text=SCENARIO).points[0].scenario
    row, told = estimate(scenario, "spec"), provenance(scenario)

    assert load.load_profile("test-cpu", "specfleet").device.threads == 2
    assert row["tpot_s"]["mean"] > 0.01
    assert "test-cpu-specfleet" in told["profile"]
    assert {"gpus/test-cpu", "profiles/test-cpu-specfleet"} <= {source["file"] for source in told["sources"]}


def test_results_are_computed_anew_once_the_own_catalog_has_changed(own):
    write_device(fit_device(complete(), "test-cpu"), own, force=False)
    scenario = load_scenario("own.yaml", (), text=SCENARIO).points[0].scenario
    before = point_hash(scenario)

    profile = own / "profiles" / "test-cpu-specfleet.json"
    profile.write_text(profile.read_text() + "\n")
    catalog_hash.cache_clear()

    assert point_hash(scenario) != before


def test_the_memory_of_an_fp32_engine_closes_to_the_byte(own):
    write_device(fit_device(complete(), "test-cpu"), own, force=False)
    scenario = load_scenario("own.yaml", (), text=SCENARIO).points[0].scenario

    (row,) = memory_ledger("spec", scenario.deployments["spec"])

    assert row.target_weights_bytes == 134_515_008 * 4
    assert row.kv_bytes_per_token["target"] == 2 * 30 * 3 * 64 * 4
    spent = row.target_weights_bytes + row.activation_bytes + row.runtime_bytes + row.kv_budget_bytes
    assert spent == row.usable_bytes
    assert row.draft_weights_bytes == 0


def test_a_profile_of_another_device_is_not_written_over(own):
    write_device(fit_device(complete(), "test-cpu"), own, force=False)
    other = complete()
    other["device"] |= {"threads": 4, "torch": "2.14.0"}

    with pytest.raises(ProfileError, match=r"another device \(threads 2 against 4; torch 2.13 against 2.14\).*--force"):
        write_device(fit_device(other, "test-cpu"), own, force=False)
    write_device(fit_device(other, "test-cpu"), own, force=True)

    assert load.load_profile("test-cpu", "specfleet").device.threads == 4


def with_draft(name):
    data = complete()
    return data | {"options": data["options"] | {"draft": name}}


def test_a_device_that_is_measured_again_with_another_draft_keeps_those_that_it_has(own):
    for name in ("lookup", "union-lookup-ngram-code", "lookup"):
        write_device(fit_device(with_draft(name), "test-cpu"), own, force=False)

    (surface,) = load.load_profile("test-cpu", "specfleet").steps
    assert [draft.draft for draft in surface.drafts] == ["lookup", "union-lookup-ngram-code"]


def test_a_union_that_was_measured_as_a_whole_is_planned_with(own):
    write_device(fit_device(with_draft("union-lookup-ngram-code"), "test-cpu"), own, force=False)
    named = "measured: union-lookup-ngram-code, acceptance: {all: {histogram: {0: 4, 1: 3, 2: 2, 3: 0}, drafted: {0: 2, 3: 7}}}"
    text = SCENARIO.replace("measured: lookup, acceptance: {all: {survival: [0.6, 0.4, 0.3]}}", named)

    row = estimate(load_scenario("own.yaml", (), text=text).points[0].scenario, "spec")

    assert row["tokens_per_step"] == pytest.approx(1.0 + 7 / 9, rel=0.01)  # the last step of a request is cut
    assert row["draft_tokens_mean"] == pytest.approx(7 * 3 / 9)


def test_each_draft_is_measured_into_a_file_of_its_own(tmp_path):
    usual, union = (measurements_file(tmp_path, "cpu", drafts) for drafts in ("lookup", "union-lookup-ngram-code"))

    assert usual == measurements_file(tmp_path, "cpu") == tmp_path / "measurements" / "cpu.json"
    assert union.name == "cpu-union-lookup-ngram-code.json"


def test_a_patch_version_of_torch_is_the_same_device(own):
    write_device(fit_device(complete(), "test-cpu"), own, force=False)
    other = complete()
    other["device"] |= {"torch": "2.13.1+cpu"}

    assert write_device(fit_device(other, "test-cpu"), own, force=False)


def test_a_name_of_the_package_cannot_be_taken(own):
    with pytest.raises(CatalogError, match="the package has a GPU 'h200-sxm' of its own"):
        write_device(fit_device(complete(), "h200-sxm"), own, force=False)


def test_the_project_writes_its_own_devices_into_the_package(own, monkeypatch):
    monkeypatch.setattr(device_catalog, "PACKAGE", own)

    written = write_device(fit_device(complete(), "h200-sxm"), own, force=False)

    assert own / "gpus" / "h200-sxm.yaml" in written
    assert measurements_file(own, "cpu-1thread").parent.parent.name == "runs"


def test_a_model_that_the_package_lacks_gets_an_entry_of_its_own(own):
    data = complete()
    data["model"]["name"] = "my-model"

    found = fit_device(data, "test-cpu")
    write_device(found, own, force=False)

    assert load.load_model("my-model").norm_params == load.load_model("smollm2-135m").norm_params


def test_a_noisy_machine_marks_the_profile():
    busy = fit_device(complete(noise=0.01, load=3.2), "test-cpu").profile.device
    uneven = fit_device(complete(noise=0.3), "test-cpu").profile.device
    quiet = fit_device(complete(noise=0.01), "test-cpu").profile.device

    assert (busy.noisy, uneven.noisy, quiet.noisy) == (True, True, False)
    assert "other processes" in busy.notes[0]
    assert "between two visits" in uneven.notes[0]


def test_strict_refuses_a_noisy_file(own, tmp_path):
    file = tmp_path / "busy.json"
    file.write_text(json.dumps(complete(load=3.2)))

    with pytest.raises(ProfileError, match="noisy machine"):
        fit_file(file, None, own, strict=True, force=False)


@pytest.mark.parametrize("text", ["", "[]", '{"format": 2}', '{"format": 1}'])
def test_a_file_that_is_none_is_an_error_that_names_it(text, own, tmp_path):
    file = tmp_path / "broken.json"
    file.write_text(text)

    with pytest.raises(ProfileError, match=r"broken\.json: "):
        fit_file(file, None, own, strict=False, force=False)


def test_measurements_that_were_interrupted_are_to_be_finished_first():
    with pytest.raises(ProfileError, match="not complete"):
        fit_device(measurements(), "test-cpu")


def test_a_device_has_a_readable_name():
    assert (
        entry_name({"kind": "cpu", "name": "Intel(R) Xeon(R) CPU @ 2.20GHz", "threads": 2})
        == "cpu-intel-xeon-2.20ghz-2t"
    )
    assert entry_name({"kind": "cuda", "name": "NVIDIA H200", "threads": 8}) == "gpu-h200"
