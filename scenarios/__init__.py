"""Scenario files, built in and of the user, and the runner of batches."""
