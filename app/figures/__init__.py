"""Figures of the dashboard: results in, Plotly figures out; streamlit is not known here."""
