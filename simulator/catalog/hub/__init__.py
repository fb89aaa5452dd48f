"""Models of the Hugging Face hub by their config.json: architecture and weight format, read without a network."""
