"""The sections of the page Speculation: ways to draft, placement, K by batch, when it pays."""
