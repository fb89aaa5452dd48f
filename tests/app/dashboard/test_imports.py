"""What the dashboard does not need."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def loaded_by(module: str, names: tuple[str, ...]) -> str:
    code = f"import sys, {module}; print(*[name for name in {names} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_the_dashboard_knows_no_engine_and_no_torch():
    pytest.importorskip("streamlit", reason="needs streamlit")

    assert loaded_by("app.dashboard.main", ("torch", "engine")).strip() == ""


def test_a_worker_process_knows_no_page():
    assert loaded_by("app.dashboard.pool, simulator.planning.study", ("streamlit", "plotly", "torch")).strip() == ""
