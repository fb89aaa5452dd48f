"""A real speculative-decoding engine in PyTorch. It imports no sibling package."""
