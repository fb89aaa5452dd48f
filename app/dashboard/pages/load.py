"""The page load."""

import streamlit as st


def page() -> None:
    """Draw the page."""
    st.write("load")
