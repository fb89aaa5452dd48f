"""What came of it: latency, service levels, capacity statistics, cost, report."""
