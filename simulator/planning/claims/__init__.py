"""The figures of an article about speculative decoding, each beside what this model's formulas and catalog give."""
