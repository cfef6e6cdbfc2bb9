"""The application: command line, pages, teaching and the reading of tables."""
