"""Deployments as serving engines know them: flags, configurations, benchmarks. Pure functions to text."""
