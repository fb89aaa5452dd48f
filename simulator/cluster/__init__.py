"""What happens in simulated time: arrivals, scheduling, KV cache, replicas, records."""
