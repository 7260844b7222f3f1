"""One value of the planning benchmarks: required, measured, and their ratio."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """`measured` must be at least `asked`, or at most, or (with `upto`) between the two."""

    what: str
    asked: float
    measured: float
    at_most: bool = False
    upto: float | None = None
    unit: str = ""

    @property
    def ratio(self) -> float:
        """1 or more if it is met."""
        if self.upto is not None:
            return min(self.measured / self.asked, self.upto / self.measured)
        if self.at_most:
            return self.asked / self.measured if self.measured else float("inf")
        return self.measured / self.asked

    def show(self) -> None:
        bound = f"{self.asked:g} to {self.upto:g}" if self.upto is not None else f"{self.asked:g}"
        sign = "" if self.upto is not None else "<= " if self.at_most else ">= "
        met = "" if self.ratio >= 1 else "  MISSED"
        print(
            f"{self.what:58} asked {sign + bound + self.unit:>14}  measured {self.measured:>9.4g}{self.unit:2}  "
            f"ratio {self.ratio:6.2f}{met}",
            flush=True,
        )
