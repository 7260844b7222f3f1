"""Models that learn from soft labels without torch: linear models, heads on predictions, nearest neighbors.

Every model is a frozen dataclass with a `name` and `fit_many(x, probs, weights)`, which fits one model per target; a
fitted model has `predict(x)`, and `arrays()` and `from_arrays(...)` for storage.
"""
