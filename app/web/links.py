"""Addresses inside the site: the question is in them, so every link can be opened anew and shared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode


@dataclass(frozen=True, slots=True)
class QuestionLinks:
    """Links of a live answer, or of a frozen one when `comparison` is given."""

    query: str = ""
    comparison: str = ""

    def _with(self, path: str, **extra: Any) -> str:
        own = urlencode({"comparison": self.comparison}) if self.comparison else self.query
        more = urlencode({k: v for k, v in extra.items() if v not in ("", None)})
        joined = "&".join(part for part in (own, more) if part)
        return f"{path}?{joined}" if joined else path

    def explain(self, path: str) -> str:
        """One figure of the answer, opened."""
        # Paths are letters, digits, dots and underscores: nothing to escape, and a page has hundreds of them.
        own = urlencode({"comparison": self.comparison}) if self.comparison else self.query
        return f"/explain?{own}&figure={path}" if own else f"/explain?figure={path}"

    def chart(self, kind: str) -> str:
        """Data of a chart."""
        return self._with(f"/charts/{kind}")

    def panel(self, rank: int) -> str:
        """One option in full."""
        return self._with("/option", rank=rank)

    def csv(self) -> str:
        """The ranking as a table."""
        return self._with("/ranking.csv")

    def page(self, **extra: Any) -> str:
        """The page itself, shown otherwise."""
        if self.comparison:
            more = urlencode({k: v for k, v in extra.items() if v not in ("", None)})
            return f"/c/{self.comparison}" + (f"?{more}" if more else "")
        return self._with("/", **extra)


@dataclass(frozen=True, slots=True)
class GpuLinks:
    """Links of a card's page."""

    gpu: str

    def explain(self, path: str) -> str:
        """One figure of the card, opened."""
        return "/explain?" + urlencode({"gpu": self.gpu, "figure": path})
