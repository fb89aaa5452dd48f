"""The controls of where and how a deployment holds KV: formats, host memory, prefix cache, windows of its drafts."""

from typing import Any, get_args

import streamlit as st

from app.dashboard.kv_steps import WINDOW, chooses_format, has_host, keeps_prefixes, takes_window
from app.dashboard.terms import tip
from app.dashboard.widgets import Changes, choice, number
from app.format import count
from simulator.catalog.load import load_gpu, load_links
from simulator.cluster.plan import has_prefixes
from simulator.spec.deployment import Deployment
from simulator.spec.draft import Draft, KvDtype
from simulator.spec.scenario import Scenario

CONTROL_PX = 170
HOST_LINKS = {"pcie": "PCIe", "internode": "another node's, over the network"}
ON, OFF = "kept", "not kept"


def kv_controls(scenario: Scenario, name: str) -> None:
    """Edit how a deployment of the scenario holds KV; what it cannot have has no control."""
    spec, at = scenario.deployments[name], f"deployments.{name}"
    grid = st.grid(4, min_column_width=CONTROL_PX)
    with grid.cell():
        choice(
            "Target's KV", f"memory_kv:{name}", spec.target.kv, get_args(KvDtype),
            lambda value: {f"{at}.target.kv": value},
            help=tip("kv-format", "fp8 and int8 take half of bf16; what they cost in quality is not modelled."),
        )  # fmt: skip
    if has_host(spec):
        _host(grid, spec, at)
    if has_prefixes(scenario.workload):
        with grid.cell():
            choice(
                "Prefix cache", f"memory_prefix:{name}", ON if keeps_prefixes(spec) else OFF, (ON, OFF),
                lambda value: {f"{at}.engine.prefix_cache": value == ON},
                help=tip("prefix-cache"),
            )  # fmt: skip
    for key, draft in spec.speculation.drafts.items():
        _draft(grid, draft, key, at)
    for sentence in without_control(scenario, spec):
        st.caption(sentence)


def _host(grid: Any, spec: Deployment, at: str) -> None:
    with grid.cell():
        number(
            "KV on the host [GB per GPU]", f"memory_host:{at}", float(spec.engine.kv_host_gb or 0.0),
            lambda value: host_changes(at, value), min_value=0.0, max_value=4000.0, step=16.0, format="%g",
            help=tip("kv-tiers", "A fixed share of every sequence's KV lies there. 0: none."),
        )  # fmt: skip
    links = [link for link in HOST_LINKS if link in load_links(load_gpu(spec.gpu).links).point_to_point]
    if spec.engine.kv_host_gb is not None and len(links) > 1:
        with grid.cell():
            choice(
                "Link to it", f"memory_link:{at}", spec.engine.kv_host_link or "pcie", links,
                lambda value: {f"{at}.engine.kv_host_link": value}, format_func=HOST_LINKS.__getitem__,
            )  # fmt: skip


def host_changes(at: str, gb: float) -> Changes:
    """The change that gives a deployment so many GB of the host for each GPU; 0 takes them away.

    >>> host_changes("deployments.a", 0.0)
    {'deployments.a.engine.kv_host_gb': None, 'deployments.a.engine.kv_host_link': None}
    """
    engine = f"{at}.engine"
    return {f"{engine}.kv_host_gb": gb} if gb else {f"{engine}.kv_host_gb": None, f"{engine}.kv_host_link": None}


def _draft(grid: Any, draft: Draft, key: str, at: str) -> None:
    place = f"{at}.speculation.drafts.{key}"
    if chooses_format(draft):
        with grid.cell():
            choice(
                f"Draft {key}: KV", f"memory_kv:{place}", draft.kv, get_args(KvDtype),
                lambda value: {f"{place}.kv": value}, help=tip("kv-format"),
            )  # fmt: skip
    if takes_window(draft):
        with grid.cell():
            number(
                f"Draft {key}: window [tokens]", f"memory_window:{place}", draft.window.recent if draft.window else 0,
                lambda value: window_changes(place, draft, int(value)), min_value=0, max_value=10**6, step=256,
                help=tip("draft-window", "0: it keeps all. by_context of acceptance says what a window costs."),
            )  # fmt: skip
        if draft.window is not None:
            with grid.cell():
                number(
                    f"Draft {key}: sinks [tokens]", f"memory_sinks:{place}", draft.window.sinks,
                    lambda value: {f"{place}.window.sinks": int(value)}, min_value=0, max_value=10**6, step=4,
                    help=tip("draft-window", "First tokens of a sequence, which stay beside the window."),
                )  # fmt: skip


def window_changes(place: str, draft: Draft, recent: int) -> Changes:
    """The change that caps a draft's KV at so many last tokens; 0 has it keep all."""
    if not recent:
        return {f"{place}.window": None}
    if draft.window is None:
        return {f"{place}.window": {"sinks": WINDOW["sinks"], "recent": recent}}
    return {f"{place}.window.recent": recent}


def without_control(scenario: Scenario, spec: Deployment) -> list[str]:
    """What has no control here, and why."""
    said = []
    if not has_host(spec):
        said.append(f"{spec.gpu} is the host itself: there is no second tier.")
    if not has_prefixes(scenario.workload):
        said.append("No prefix cache to choose: the prompts of this workload have nothing in common.")
    none = [key for key, draft in spec.speculation.drafts.items() if not takes_window(draft)]
    if none:
        said.append(f"No KV of its own to choose: {', '.join(none)}.")
    most = spec.engine.max_num_seqs
    if most is not None:
        said.append(f"The engine runs at most {count(most)} sequences at once, whatever fits.")
    return said
