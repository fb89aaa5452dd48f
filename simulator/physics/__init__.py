"""Pure formulas: footprint, memory ledger, acceptance, step cost. No clock, no randomness."""
