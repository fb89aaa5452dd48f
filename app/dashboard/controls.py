"""The controls beside every page."""

import streamlit as st

from app.dashboard import state


def sidebar() -> None:
    """The controls that all pages share."""
    st.caption(state.current().name)
