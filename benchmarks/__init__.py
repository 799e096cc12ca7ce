"""How fast the code is, against what a user would take instead: one module a row of the table."""
