"""The database: tables, transactions and all SQL. One module per noun; each function takes an open session."""
