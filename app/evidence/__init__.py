"""Published measurements beside their predictions, as the package carries them."""
