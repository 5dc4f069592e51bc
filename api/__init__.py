"""The REST API and the dashboard. A route parses a request, calls a use case and returns its result."""
