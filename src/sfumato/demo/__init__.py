"""A small simulated study to walk the path on: what it asked, who answered, and what came of it."""
