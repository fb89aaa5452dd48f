"""The page memory."""

import streamlit as st


def page() -> None:
    """Draw the page."""
    st.write("memory")
