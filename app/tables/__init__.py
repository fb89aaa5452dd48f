"""What the commands print: tables, bars and sentences from plain rows."""
