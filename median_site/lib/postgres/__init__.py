"""The database backend that the settings name."""
