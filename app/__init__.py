"""What people see: the command line and the dashboard."""
