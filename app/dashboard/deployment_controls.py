"""The controls of a single deployment: its GPUs, its shape, its formats, its engine."""

from typing import get_args

import streamlit as st

from app.dashboard.draft_presets import NO_DRAFT, PRESETS, chosen_draft, draft_changes
from app.dashboard.terms import tip
from app.dashboard.widgets import choice, number
from simulator.catalog.load import names
from simulator.spec.draft import KvDtype, WeightDtype
from simulator.spec.scenario import Scenario

WIDTHS = (1, 2, 4, 8)
"""GPUs over which a layer is split."""


def deployment_controls(scenario: Scenario) -> None:
    """Choose a deployment and edit it."""
    name = st.selectbox("Deployment", list(scenario.deployments), key="deployment", help=tip("deployment"))
    spec, at = scenario.deployments[name], f"deployments.{name}"
    choice("GPU", f"gpu:{name}", spec.gpu, names("gpus"), lambda value: {f"{at}.gpu": value})
    left, right = st.columns(2)
    with left:
        number(
            "Replicas", f"replicas:{name}", spec.replicas, lambda value: {f"{at}.replicas": value},
            min_value=1, max_value=10_000, step=1, help=tip("replica"),
        )  # fmt: skip
        choice(
            "Weights", f"weights:{name}", spec.target.weights, get_args(WeightDtype),
            lambda value: {f"{at}.target.weights": value}, help=tip("weight-format"),
        )  # fmt: skip
    with right:
        choice(
            "Tensor parallel", f"tp:{name}", spec.target.tensor_parallel, WIDTHS,
            lambda value: {f"{at}.target.tensor_parallel": value}, help=tip("tensor-parallel-tp"),
        )  # fmt: skip
        choice(
            "KV", f"kv:{name}", spec.target.kv, get_args(KvDtype), lambda value: {f"{at}.target.kv": value},
            help=tip("kv-format", "Of the target."),
        )  # fmt: skip
    _engine(scenario, name)
    choice(
        "Draft", f"draft:{name}", chosen_draft(spec.speculation), (NO_DRAFT, *PRESETS),
        lambda value: draft_changes(name, value),
        help=tip("draft", "A head, copied text or none, in place of what stands there. Its acceptance is a measured "
        "preset of the catalog, of another pair of models: bring your own on the page Evidence."),
    )  # fmt: skip


def _engine(scenario: Scenario, name: str) -> None:
    spec, at = scenario.deployments[name], f"deployments.{name}"
    choice(
        "Target", f"model:{name}", spec.target.model, names("models"), lambda value: {f"{at}.target.model": value},
        help=tip("target"),
    )  # fmt: skip
    choice(
        "Engine", f"engine:{name}", spec.engine.policy, names("engines"), lambda value: {f"{at}.engine.policy": value},
        help=tip("engine"),
    )  # fmt: skip
