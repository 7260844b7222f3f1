"""One value of the planning benchmarks: required, measured, and their ratio."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`measured` must be at least `required`; with `at_most` at most; with `up_to` between the two values."""

    what: str
    required: float
    measured: float
    at_most: bool = False
    up_to: float | None = None
    unit: str = ""

    @property
    def ratio(self) -> float:
        """At least 1 if the requirement is met."""
        if self.up_to is not None:
            return min(self.measured / self.required, self.up_to / self.measured)
        if self.at_most:
            return self.required / self.measured if self.measured else float("inf")
        return self.measured / self.required

    def show(self) -> None:
        bound = f"{self.required:g} to {self.up_to:g}" if self.up_to is not None else f"{self.required:g}"
        sign = "" if self.up_to is not None else "<= " if self.at_most else ">= "
        met = "" if self.ratio >= 1 else "  MISSED"
        print(
            f"{self.what:58} required {sign + bound + self.unit:>14}  measured {self.measured:>9.4g}{self.unit:2}  "
            f"ratio {self.ratio:6.2f}{met}",
            flush=True,
        )
