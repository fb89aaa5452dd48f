"""Questions asked of the model: the steady-state estimate, capacity, fleet size, comparison."""
