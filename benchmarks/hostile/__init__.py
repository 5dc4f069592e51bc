"""Cases of hostile input, one module for each kind."""
