"""Measuring a device with the engine: needs torch, numpy and `engine`, and nothing else of this project."""
