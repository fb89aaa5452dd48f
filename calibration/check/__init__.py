"""Predicted against measured: the engine is driven with workloads that no fit saw, and simulated with the profile."""
