"""What to ask, of how many, about which items, and what it is worth: before a study, and while it runs."""
