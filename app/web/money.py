"""Money as the reader wants to see it: yuan, or US dollars at the dated rate of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from app.texts.figures import format_money, format_number

NO_DATA = "\u2014"


@dataclass(frozen=True, slots=True)
class Money:
    """Shows amounts in yuan in the chosen currency; the values themselves stay in yuan."""

    language: str
    currency: str = "CNY"
    cny_per_unit: float = 1.0

    @property
    def sign(self) -> str:
        """The currency as it stands in a column head."""
        if self.currency == "USD":
            return "US$"
        return "\u5143" if self.language == "zh" else "\u00a5"

    def amount(self, cny: float | None, digits: int = 0) -> str:
        """With its sign: \u00a536,908."""
        if cny is None:
            return NO_DATA
        return format_money(cny / self.cny_per_unit, self.currency, self.language, digits)

    def unit(self, cny: float | None, signed: bool = True) -> str:
        """Cost of a unit of work: two decimals, more where the first two would be zeros."""
        if cny is None:
            return NO_DATA
        size = abs(cny / self.cny_per_unit)
        digits = 2 if size >= 0.1 or size == 0 else 3 if size >= 0.01 else 5
        return self.amount(cny, digits) if signed else self.bare(cny, digits)

    def bare(self, cny: float | None, digits: int = 0) -> str:
        """Without a sign, for a column that names the currency in its head."""
        if cny is None:
            return NO_DATA
        return format_number(cny / self.cny_per_unit, digits, self.language)
