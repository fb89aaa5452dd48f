"""The page speculation."""

import streamlit as st


def page() -> None:
    """Draw the page."""
    st.write("speculation")
