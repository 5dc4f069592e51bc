"""The dashboard: `pages` serves the shells in templates/ and the scripts and styles in static/."""
