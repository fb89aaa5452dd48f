"""The page compare."""

import streamlit as st

from app.dashboard.answers import answer


def page() -> None:
    """Draw the page."""
    st.write(answer().comparison["leader"])
