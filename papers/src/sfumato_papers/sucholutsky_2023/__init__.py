"""Sucholutsky et al. (2023), on the informativeness of supervision signals: counted, simulated, and learned from."""
