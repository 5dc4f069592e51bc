"""The dashboard: templates/, the scripts and styles in static/, and the code that renders and finds them."""
