"""What is attacked: anything that fits a table and samples doubles."""
