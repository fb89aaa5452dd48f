"""Figures on a page, each with its words, and how the deployments of a scenario look in them."""

import plotly.graph_objects as go
import streamlit as st

from app.figures.style import CONFIG, Look, looks
from simulator.spec.scenario import Scenario


def chart(figure: go.Figure, alt: str, key: str) -> None:
    """A figure, and the same in words for those who cannot see it."""
    st.plotly_chart(figure, config=CONFIG, alt=alt, key=key)


def titled_chart(title: str, figure: go.Figure, alt: str, says: str = "") -> None:
    """A figure under its title, with what to know of it in small; no other figure of the page has that title."""
    st.markdown(f"**{title}** :small[:gray[{says}]]" if says else f"**{title}**")
    chart(figure, alt, f"chart {title}")


def looks_of(scenario: Scenario) -> dict[str, Look]:
    """Deployment → its look, the same on every page."""
    return looks({name: (spec.gpu, spec.speculation.kind != "none") for name, spec in scenario.deployments.items()})
