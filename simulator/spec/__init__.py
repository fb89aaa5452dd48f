"""What the user chose: frozen, strict specifications, without any behaviour in time."""
