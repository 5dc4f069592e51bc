"""The people of a team: their accounts, passwords and sessions. `python -m services.users` manages them by hand."""
