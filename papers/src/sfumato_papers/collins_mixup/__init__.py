"""Human-in-the-loop mixup: what people see in mixed images, and whether networks gain from learning it."""
