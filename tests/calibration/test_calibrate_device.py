"""The whole way on a tiny random model: measure, fit, write, and price a step of the engine that was measured."""

import pytest

pytest.importorskip("torch", reason="measuring needs torch")

from calibration import device_entries
from calibration.device_run import calibrate_device
from calibration.measuring import kernels, session
from simulator.catalog import load
from simulator.errors import CatalogError, ProfileError

TINY = """\
name: tiny
num_layers: 2
hidden_size: 32
intermediate_size: 64
num_attention_heads: 4
num_kv_heads: 2
head_dim: 8
vocab_size: 64
tie_word_embeddings: true
max_position: 256
attention: gqa
norm_params: 160
"""
SMALL = ((64, 64), (128, 64), (128, 128))
WORDS = [
    "--threads",
    "1",
    "--max-model-len",
    "256",
    "--max-num-seqs",
    "4",
    "--max-num-batched-tokens",
    "64",
    "--kv-blocks",
    "64",
    "--quick",
]


@pytest.mark.slow
def test_a_device_is_measured_fitted_and_written(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECFLEET_CATALOG", str(tmp_path / "mine"))
    monkeypatch.setattr(kernels, "WEIGHT_SHAPES", SMALL)
    monkeypatch.setattr(device_entries, "WEIGHT_SHAPES", SMALL)
    monkeypatch.setattr("calibration.measure.QUICK", session.QUICK._replace(steps=1, most_blocks=2))
    (tmp_path / "mine").mkdir()
    (tmp_path / "tiny.yaml").write_text(TINY)
    load.forget()
    said = []

    words = ["--model", f"random:{tmp_path}/tiny.yaml", "--draft", "noisy_target", *WORDS]
    found = calibrate_device(words, "here", None, lambda *what: said.append(what), force=False)

    assert load.load_profile("here", "specfleet") == found.fit.profile
    assert found.fit.surface.drafts[0].passes.tokens == (1, 2, 3, 5, 8)
    assert load.load_model(found.fit.surface.model).num_layers == 2
    assert max(left_s for _, _, left_s, _ in said) > 0
    load.forget()


def test_a_model_that_is_not_there_is_bad_input(tmp_path):
    with pytest.raises(ProfileError, match="no such folder"):
        calibrate_device(["--model", "nothing"], "here", tmp_path, lambda *what: None, force=False)


def test_a_name_that_the_package_has_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("calibration.measure.measure", lambda *given: pytest.fail("measured for nothing"))

    with pytest.raises(CatalogError, match=r"the package has a GPU 'h200-sxm' of its own; name the device with --name"):
        calibrate_device(["--quick"], "h200-sxm", tmp_path, lambda *what: None, force=False)
