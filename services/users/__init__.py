"""User accounts, passwords, tokens and sessions. `python -m services.users` manages accounts on the command line."""
