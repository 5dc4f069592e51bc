from tests.databases import database_url, postgres, store

__all__ = ["database_url", "postgres", "store"]
