"""Start the whole service with one command: the private Redis, the api and the worker, with one common log."""
