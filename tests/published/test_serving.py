"""Predicted against published serving: a few dozen rows with their sources, as a gate against getting worse.

The rows are InferenceX closed loops (as aiconfigurator@095f58a5 holds them) and TensorRT-LLM's own tables; see the
column `source`. Limits are a little above the figures of the day they were set: raise them only with a reason.
"""

from pathlib import Path
from statistics import fmean, median

import pandas as pd
import pytest

from calibration.constants import engine_constants
from calibration.fit_constants import predict
from calibration.rows import case_of

ROWS = pd.read_csv(Path(__file__).with_name("serving_rows.csv"))
LIMITS = {
    ("trtllm", "llama-3.1-70b"): {"tpot": (0.03, 0.04), "ttft": (0.10, 0.11)},
    ("vllm", "llama-3.1-70b"): {"tpot": (0.07, 0.08), "ttft": (0.12, 0.12)},
    ("trtllm", "gpt-oss-120b"): {"tpot": (0.12, 0.14), "ttft": (0.25, 0.30)},
    ("vllm", "gpt-oss-120b"): {"tpot": (0.10, 0.12), "ttft": (0.22, 0.25)},
    ("sglang", "deepseek-v3"): {"tpot": (0.06, 0.08), "ttft": (0.35, 0.38)},
    ("trtllm", "llama-3.3-70b"): {"tokens_per_s": (0.09, 0.11)},
    ("trtllm", "llama-3.1-8b"): {"tokens_per_s": (0.05, 0.07)},
}
"""Engine and model → metric → most that median and mean absolute percentage error may be."""


def errors(engine, model):
    """Absolute percentage errors of each metric over the rows of one engine and model."""
    cases = [case_of(row) for row in ROWS.itertuples() if (row.engine, row.model) == (engine, model)]
    predicted = predict(cases, engine_constants(engine))
    out = {"tpot": [], "ttft": [], "tokens_per_s": []}
    for case, found in zip(cases, predicted, strict=True):
        per_gpu = found.output_tokens_per_s / case.deployment.target.num_gpus
        pairs = {
            "tpot": (found.tpot_s, case.tpot_s),
            "ttft": (found.ttft_s, case.ttft_s),
            "tokens_per_s": (per_gpu, case.tokens_per_s_per_gpu),
        }
        for metric, (mine, theirs) in pairs.items():
            if theirs == theirs:
                out[metric].append(abs(mine / theirs - 1.0))
    return out


def test_every_row_names_its_source():
    assert ROWS["source"].notna().all()
    assert ROWS["id"].is_unique


@pytest.mark.parametrize(("engine", "model"), LIMITS)
def test_predictions_stay_as_near_as_they_have_been(engine, model):
    found = errors(engine, model)

    for metric, (middle, mean) in LIMITS[engine, model].items():
        assert found[metric], metric
        assert (metric, median(found[metric]) <= middle, fmean(found[metric]) <= mean) == (metric, True, True), found
