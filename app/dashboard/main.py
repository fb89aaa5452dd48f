"""The dashboard's entry: `streamlit run` executes this file for every browser and every move.

Worker processes import it too, under another name: hence the guard.
"""

import streamlit as st

from app.dashboard import controls, state
from app.dashboard.pages import compare, evidence, load, memory, scenario, speculation

TITLE = "specfleet"


def main() -> None:
    """Draw the chosen page."""
    st.set_page_config(page_title=TITLE, page_icon=":material/speed:", layout="wide")
    chosen = st.navigation(
        [
            st.Page(compare.page, title="Compare", icon=":material/balance:", url_path="compare", default=True),
            st.Page(load.page, title="Load", icon=":material/show_chart:", url_path="load"),
            st.Page(speculation.page, title="Speculation", icon=":material/bolt:", url_path="speculation"),
            st.Page(memory.page, title="Memory", icon=":material/memory:", url_path="memory"),
            st.Page(evidence.page, title="Evidence", icon=":material/fact_check:", url_path="evidence"),
            st.Page(scenario.page, title="Scenario", icon=":material/edit_note:", url_path="scenario"),
        ],
        position="sidebar",
    )
    with st.sidebar:
        controls.sidebar()
    problem = state.take_problem()
    if problem:
        st.error(problem, icon=":material/block:")
    chosen.run()


if __name__ == "__main__":
    main()
