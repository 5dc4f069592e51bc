"""One command for the whole service: the private Redis, the api and the worker as children with one log."""
