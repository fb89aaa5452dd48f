"""The page evidence."""

import streamlit as st


def page() -> None:
    """Draw the page."""
    st.write("evidence")
