"""Dated facts as data, with one loader."""
