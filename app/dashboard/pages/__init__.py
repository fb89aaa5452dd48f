"""The pages of the dashboard, each with a function `page`."""
