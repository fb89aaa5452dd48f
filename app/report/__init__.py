"""The report of a run: one HTML file with its figures in it, that opens without a network."""
