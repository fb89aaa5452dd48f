"""The subcommands, one a module."""
