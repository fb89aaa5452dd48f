"""The dashboard: pages over one scenario that controls, files and links edit alike."""
