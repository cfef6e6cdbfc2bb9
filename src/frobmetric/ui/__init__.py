"""What people touch: files, tables, figures and the command line."""
