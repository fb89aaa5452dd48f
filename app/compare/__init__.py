"""Two run folders against each other: what changed, by how much, and why."""
