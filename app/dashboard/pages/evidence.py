"""The page Evidence: how wrong the predictions have been, where they come from, and the reader's own measurements."""

from collections.abc import Sequence

import streamlit as st

from app.dashboard import badges, bring, tables
from app.dashboard.computed import How
from app.dashboard.explained import explained
from app.dashboard.headings import titled
from app.evidence.published import METRICS, Compared, pairs, published
from app.figures import parity as figures
from app.figures.parity import Errors, HeldOutError, Pair
from app.format import count, percent, plural, signed
from app.report.markup import tag
from app.tables.validation import TITLES
from simulator.catalog.load import load_profile, names
from simulator.spec.profile import HeldOut, Profile

CHART_PX = 340
"""Width below which one chart stands alone."""

MEASURED = "Both are there: a published measurement, and what is predicted of the same run."

JUDGED = {"held_out": "held-out groups", "left_out": "models left out"}
"""Field of a profile → how the page calls it."""

SAYS = {
    "held_out": "Constants of the engine were fitted on every other group of rows; these are the other groups.",
    "left_out": "Constants were fitted without any row of that model: what to expect of a model that was never seen.",
}


def page() -> None:
    """Draw the page."""
    parity, profiles, own = st.tabs(["Predicted against measured", "Profiles", "Your own measurements"])
    with parity:
        _parity(published())
    with profiles:
        _profiles()
    with own:
        bring.benchmark()
        bring.counters()


def _parity(rows: Sequence[Compared]) -> None:
    """Published runs, replayed as they were measured."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        metric = st.segmented_control(
            "Metric", METRICS, default=METRICS[0], required=True, key="evidence_metric", persist_state="session",
            format_func=lambda name: TITLES[name],
        )  # fmt: skip
        gpus = _filter("GPU", sorted({row.gpu for row in rows}), "evidence_gpu")
        engines = _filter("Engine", sorted({row.engine for row in rows}), "evidence_engine")
    shown = pairs((row for row in rows if row.gpu in gpus and row.engine in engines), metric)
    grid = st.grid(2, min_column_width=CHART_PX, gap=("small", "medium"))
    with grid.cell():
        _compare(shown, metric)
    with grid.cell():
        titled("By engine, GPU and model", badges.badge("measured", "measured", MEASURED))
        tables.show(by_group(rows, shown))
        st.caption(
            "Published runs (InferenceX, TensorRT-LLM), each replayed as it was measured: the client with its lengths "
            "and requests in flight, the engine with its token budget. Filled marks: a constant of the engine was "
            "fitted on the group; hollow: none was. Dotted: 20 % above and below. docs/validation.md has all 653 rows."
        )


def _filter(label: str, options: Sequence[str], key: str) -> list[str]:
    return st.pills(
        label, options, selection_mode="multi", default=options, key=key, persist_state="session",
    )  # fmt: skip


def _compare(shown: Sequence[Pair], metric: str) -> None:
    """A parity plot with its error; what to do where there is nothing to plot."""
    if not shown:
        st.info(f"No row has both: {TITLES[metric]} was not measured here. Choose another metric, GPU or engine.")
        return
    found = figures.errors(shown)
    drawn = figures.parity_figure(shown, seconds=metric != "output_tokens_per_s")
    alt, how = figures.parity_alt(shown, TITLES[metric]), _published_how(metric, len(shown))
    explained(
        TITLES[metric], drawn, alt, how, says=said(found), key="Predicted against measured",
        rows=[one._asdict() for one in shown],
    )  # fmt: skip


def _published_how(metric: str, number: int) -> How:
    rows = plural(number, "row")
    return [
        ("Formula", "error = |predicted ÷ measured − 1| of each row; bias = mean of predicted ÷ measured − 1"),
        ("Predicted", f"{TITLES[metric]} of {rows}, each replayed as it was run, with the step times of its profile"),
        ("Measured", "published by InferenceX and TensorRT-LLM; the source of a row is in the CSV and at its mark"),
        ("Fitted", "an engine's constants on half of its groups of rows (filled marks); judged on the others (hollow)"),
        ("Seeds", "a replay draws lengths from seed 0, as the client did that measured; one replay a row"),
    ]


def _held_out_how(basis: str) -> How:
    return [
        ("Formula", "median and mean of |predicted ÷ measured − 1| over the rows of a group"),
        ("Judged on", SAYS[basis]),
        ("Measured", "published serving runs; each profile names its sources and their dates, beside the figure"),
        ("Seeds", "a replay draws lengths from seed 0, as the client did that measured"),
    ]


def said(found: Errors) -> str:
    """Errors in a line."""
    return (
        f"median error {percent(found.median_ape)}, mean {percent(found.mean_ape)}, bias {signed(found.bias)} "
        f"over {count(found.num_rows)} rows"
    )


def by_group(rows: Sequence[Compared], shown: Sequence[Pair]) -> list[dict[str, str]]:
    """Errors of each engine, GPU and model among the shown pairs."""
    models = {row.id: row.model for row in rows}
    groups: dict[tuple[str, str, str], list[Pair]] = {}
    for one in shown:
        groups.setdefault((one.engine, one.gpu, models[one.id]), []).append(one)
    return [
        {
            "model": model, "engine": engine, "GPU": gpu, "rows": count(found.num_rows),
            "median": percent(found.median_ape), "bias": signed(found.bias),
        }
        for (engine, gpu, model), of in sorted(groups.items())
        for found in (figures.errors(of),)
    ]  # fmt: skip


def _profiles() -> None:
    """Each measured profile: how wrong it was on rows it was not fitted on, and where it comes from."""
    known = [profile for gpu in names("gpus") for engine in names("engines") if (profile := load_profile(gpu, engine))]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        metric = st.segmented_control(
            "Metric", METRICS[:2], default=METRICS[0], required=True, key="evidence_held_metric",
            persist_state="session", format_func=lambda name: TITLES[name],
        )  # fmt: skip
        basis = st.segmented_control(
            "Judged on", list(JUDGED), default="held_out", required=True, key="evidence_basis", persist_state="session",
            format_func=lambda name: JUDGED[name],
        )  # fmt: skip
    st.caption(SAYS[basis])
    found = [one for profile in known for one in held_out(profile, metric, basis)]
    grid = st.grid(2, min_column_width=CHART_PX, gap=("small", "medium"))
    with grid.cell():
        if found:
            explained(
                "Error by profile", figures.held_out_figure(found), figures.held_out_alt(found), _held_out_how(basis),
                says=f"{TITLES[metric]}, {JUDGED[basis]}: median (dot) to mean (line)",
                rows=[one._asdict() for one in found],
            )  # fmt: skip
        else:
            st.info("No profile was judged on this metric in this way: choose another.")
    with grid.cell():
        _provenance(known)


def held_out(profile: Profile, metric: str, basis: str) -> list[HeldOutError]:
    """Errors of a profile on rows that its constants were not fitted on."""
    groups: tuple[HeldOut, ...] = getattr(profile, basis)
    return [
        HeldOutError(profile.name, profile.engine, profile.gpu, group.group, error.count, error.median_ape,
                     error.mean_ape, error.bias)
        for group in groups
        for error in (getattr(group, metric),)
        if error is not None
    ]  # fmt: skip


def _provenance(known: Sequence[Profile]) -> None:
    """Where one profile comes from."""
    by_name = {profile.name: profile for profile in known}
    name = st.selectbox("Profile", list(by_name), key="evidence_profile", persist_state="session")
    profile = by_name[name]
    tables.show(
        [
            {
                "part": part.replace("_", " "), "measurements": count(number),
                "median fit error": percent(error.median_ape if (error := profile.fit_error.get(part)) else None),
            }
            for part, number in profile.samples.items()
        ],
    )  # fmt: skip
    versions = ", ".join(f"{part} {version}" for part, version in profile.versions.items())
    st.caption(f"{profile.gpu}, {profile.engine}, measurements read on {profile.date}. Versions: {versions}.")
    sources = (tag("li", f"{source.ref} ({source.kind}, {source.date})") for source in profile.sources.values())
    st.html(tag("ul", *sources, class_="sf-list"))
