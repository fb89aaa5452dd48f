"""How parts of a page stand beside each other."""

from typing import Any

import streamlit as st

SIDE_PX = 300
"""Width below which two parts stand one below the other."""


def side_by_side() -> tuple[Any, Any]:
    """Two parts of a page; the second below the first where the page, without its sidebar, is too narrow for both."""
    grid = st.grid(2, min_column_width=SIDE_PX, gap="large")
    return grid.cell(), grid.cell()
