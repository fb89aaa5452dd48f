"""Length tables: sampling them gives back the trace's lengths."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.catalog import load

TRACES = Path(__file__).parents[4] / "shared" / "traces"
MEANS = {"azure-conv-2023": (1154.70, 211.13), "azure-code-2023": (2047.85, 27.88)}
FILES = {
    "azure-conv-2023": "AzureLLMInferenceTrace_conv.csv",
    "azure-code-2023": "AzureLLMInferenceTrace_code.csv",
}


def interpolated_mean(quantiles: tuple[float, ...]) -> float:
    """Mean of a variable whose quantiles are joined by straight lines."""
    return (quantiles[0] / 2 + sum(quantiles[1:-1]) + quantiles[-1] / 2) / (len(quantiles) - 1)


def trace(name: str) -> NDArray[np.int64]:
    path = TRACES / FILES[name]
    if not path.exists():
        pytest.skip(f"the trace {path} is not here: the committed means stand in for it")
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2), dtype=np.int64)


def test_both_azure_traces_are_there() -> None:
    assert load.names("lengths") == sorted(MEANS)


@pytest.mark.parametrize("name", MEANS)
def test_quantiles_never_fall(name: str) -> None:
    table = load.load_lengths(name)

    assert all(list(row) == sorted(row) for row in (table.prompt_quantiles, *table.output_quantiles))
    assert len({len(row) for row in table.output_quantiles}) == 1


@pytest.mark.parametrize("name", MEANS)
def test_interpolation_keeps_the_means_of_the_trace(name: str) -> None:
    table = load.load_lengths(name)

    prompt = interpolated_mean(table.prompt_quantiles)
    output = float(np.mean([interpolated_mean(row) for row in table.output_quantiles]))

    assert (prompt, output) == pytest.approx(MEANS[name], rel=0.002)


@pytest.mark.parametrize("name", MEANS)
def test_the_committed_means_are_those_of_the_trace(name: str) -> None:
    lengths = trace(name)

    assert tuple(lengths.mean(axis=0)) == pytest.approx(MEANS[name], rel=0.001)


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.95])
def test_prompt_percentiles_are_those_of_the_trace(name: str, share: float) -> None:
    quantiles = load.load_lengths(name).prompt_quantiles

    drawn = float(np.interp(share, np.linspace(0, 1, len(quantiles)), quantiles))

    assert drawn == pytest.approx(float(np.quantile(trace(name)[:, 0], share)), rel=0.02)


@pytest.mark.parametrize("name", MEANS)
def test_outputs_follow_their_prompts(name: str) -> None:
    lengths, rows = trace(name), load.load_lengths(name).output_quantiles

    groups = np.array_split(lengths[np.argsort(lengths[:, 0], kind="stable"), 1], len(rows))

    assert [interpolated_mean(row) for row in rows] == pytest.approx([float(g.mean()) for g in groups], rel=0.02)


@pytest.mark.parametrize("name", MEANS)
def test_the_licence_and_the_citation_are_named(name: str) -> None:
    reference = load.load_lengths(name).sources["trace"].ref

    assert "CC-BY-4.0" in reference
    assert "Splitwise" in reference
