"""The page Scenario: the file behind every page, to edit, to load and to take away."""

import streamlit as st

from app.dashboard import answers, exports, state
from app.dashboard.explained import as_csv
from app.dashboard.layout import side_by_side
from scenarios.store import to_yaml
from scenarios.yaml_nodes import MAX_BYTES
from simulator.errors import SimulatorError

TEXT, SHOWN, UPLOAD = "yaml", "specfleet_yaml_shown", "upload"
"""Keys of the session: the editor, what it was given last, the uploaded file."""


def page() -> None:
    """Draw the page."""
    left, right = side_by_side()
    with left:
        _editor()
    with right:
        _upload()
        _downloads()


def _editor() -> None:
    """The scenario as YAML: shown anew when it changes elsewhere, left alone while it is edited here."""
    text = to_yaml(state.mapping())
    if st.session_state.get(SHOWN) != text or TEXT not in st.session_state:
        st.session_state[TEXT] = st.session_state[SHOWN] = text
    st.subheader("Edit", anchor=False)
    st.text_area(
        "Scenario as YAML",
        st.session_state[TEXT],
        key=TEXT,
        height=620,
        max_chars=MAX_BYTES,
        label_visibility="collapsed",
    )
    st.button("Apply", key="apply", on_click=_apply, type="primary", icon=":material/check:")
    st.caption(
        "What is wrong is told by line. `extends` is written out; `specfleet schema` describes every key; a trace is "
        "named as the page Load offers it."
    )


def _apply() -> None:
    asked = state.asked()
    _take(st.session_state[TEXT], "scenario.yaml")
    state.ask(state.asked() or asked)


def _take(text: str, file: str) -> None:
    try:
        state.replace_text(text, file)
    except SimulatorError as error:
        state.tell(str(error))


def _upload() -> None:
    st.subheader("Open a file", anchor=False)
    st.file_uploader(
        "Scenario file (YAML)", type=["yaml", "yml"], key=UPLOAD, on_change=_uploaded, max_upload_size=1,
    )  # fmt: skip


def _uploaded() -> None:
    file = st.session_state[UPLOAD]
    if file is None:
        return
    try:
        _take(file.getvalue().decode("utf-8-sig"), file.name)
    except UnicodeDecodeError as error:
        state.tell(f"{file.name}: not UTF-8 text at byte {error.start}: save the file as UTF-8")


def _downloads() -> None:
    """The scenario and what is known of it."""
    found, loaded, name = answers.answer(), state.loaded(), state.current().name
    chosen = loaded.points[state.point()]
    text = to_yaml(state.mapping())
    st.subheader("Take away", anchor=False)
    st.caption(f"The scenario, and its figures as they are now: {found.method}.")
    files = (
        ("Scenario (YAML)", f"{name}.yaml", "application/yaml", lambda: text.encode()),
        ("Figures (CSV)", f"{name}.csv", "text/csv", lambda: as_csv(found.rows)),
        ("Figures (Parquet)", f"{name}.parquet", "application/vnd.apache.parquet", lambda: exports.rows_parquet(found)),
        ("Report (HTML)", f"{name}.html", "text/html", lambda: exports.report(loaded, chosen, found)),
    )
    with st.container(horizontal=True):
        for label, file, mime, data in files:
            st.download_button(label, data, file, mime, on_click="ignore", key=f"take:{label}")
    st.code(f"specfleet run {name}.yaml", language=None)
