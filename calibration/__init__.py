"""Measurements of devices and of acceptance, fitted into the profiles that the simulator loads."""
