"""What a cluster of GPUs does and costs when it serves an LLM, with or without speculation.

It knows nothing of torch, of web pages or of how a profile was measured.
"""
