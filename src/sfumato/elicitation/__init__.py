"""Collecting answers from participants: question kinds, items, leases, sessions, and storing answers."""
