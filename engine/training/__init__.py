"""Training of drafts on the target's own outputs."""
