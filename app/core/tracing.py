"""Numbers that remember how they were made, so that an explained figure shows the formula that computed it.

The formulas of the core run on plain floats and arrays. To open one figure, the same functions run once more
on `Traced` numbers, which behave as floats and keep the arithmetic that they went through: the text of a
formula is never written a second time. `Traced` enters by a `Probe` in place of a question, a plan or a card,
whose numeric attributes are operands under their own names. A `Constant` is a float with a name: constants of
the model appear by it. `named` gives an intermediate result a line of its own. What a function does not trace
appears as the plain number that it is: the formula stays right, it only says less.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from app.core.formulas import Operand, Worked
from app.core.symbols import SYMBOLS, Symbol

T = TypeVar("T")
N = TypeVar("N", bound="NamedTuple")
Node = tuple[Any, ...]
"""("number", value), ("name", name, value, node or None), (operator, left, right), ("call", name, nodes)."""


class Constant(float):
    """A constant of the model: a float whose name, unit and meaning stand in every formula it enters."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, value: float, name: str, unit: str = "", text: str = "") -> Constant:
        """Declare a constant; several values of one meaning share a name."""
        if text:
            SYMBOLS[name] = Symbol(unit, text)
        found = super().__new__(cls, value)
        found.name = name
        return found


def constants(values: Mapping[str, float], name: str, unit: str, text: str) -> dict[str, float]:
    """A table of constants of one meaning, by what decides which one counts."""
    return {key: Constant(value, name, unit, text) for key, value in values.items()}


def _node(value: object) -> Node:
    if isinstance(value, Traced):
        return value.node
    if isinstance(value, Constant):
        return ("name", value.name, float(value), None)
    return ("number", float(cast(float, value)))


def _binary(symbol: str, left: object, right: object, value: float) -> Traced:
    a, b = _node(left), _node(right)
    # What changes nothing is not written: a factor or divisor of 1, a summand of 0.
    if symbol in "*/" and b == ("number", 1.0) or symbol in "+-" and b == ("number", 0.0):
        return Traced(value, a)
    if symbol == "*" and a == ("number", 1.0) or symbol == "+" and a == ("number", 0.0):
        return Traced(value, b)
    if symbol == "/" and a[0] == "*" and a[2] == b:
        # Multiplied and divided by the same.
        return Traced(value, a[1])
    if symbol == "/" and a == b:
        return Traced(value, ("number", 1.0))
    if symbol == "*" and ("number", 0.0) in (a, b) or symbol == "/" and a == ("number", 0.0):
        return Traced(value, ("number", value))
    return Traced(value, (symbol, a, b))


class Traced(Constant):
    """A float that keeps the arithmetic behind it.

    A subclass of `Constant`, so that Python asks it first whichever side of an operator it stands on.
    """

    __slots__ = ("node",)
    node: Node

    def __new__(cls, value: float, node: Node) -> Traced:
        """A number and where it comes from."""
        found = float.__new__(cls, value)
        found.node = node
        return found

    def __hash__(self) -> int:
        # Never the hash of the plain number: caches of the formulas keep plain and traced results apart.
        return hash((Traced, float(self), str(self.node)))

    def __eq__(self, other: object) -> bool:
        return float(self) == other

    def __add__(self, other: Any) -> Any:
        return _binary("+", self, other, float(self) + float(other))

    def __radd__(self, other: Any) -> Any:
        return _binary("+", other, self, float(other) + float(self))

    def __sub__(self, other: Any) -> Any:
        return _binary("-", self, other, float(self) - float(other))

    def __rsub__(self, other: Any) -> Any:
        return _binary("-", other, self, float(other) - float(self))

    def __mul__(self, other: Any) -> Any:
        return _binary("*", self, other, float(self) * float(other))

    def __rmul__(self, other: Any) -> Any:
        return _binary("*", other, self, float(other) * float(self))

    def __truediv__(self, other: Any) -> Any:
        return _binary("/", self, other, _quotient(float(self), float(other)))

    def __rtruediv__(self, other: Any) -> Any:
        return _binary("/", other, self, _quotient(float(other), float(self)))

    def __floordiv__(self, other: Any) -> Any:
        return _call("floor", self / other)

    def __pow__(self, other: Any, modulo: None = None) -> Any:
        return _binary("**", self, other, float(self) ** float(other))

    def __rpow__(self, other: Any, modulo: None = None) -> Any:
        return _binary("**", other, self, float(other) ** float(self))

    def __neg__(self) -> Any:
        return _binary("-", 0.0, self, -float(self))

    def __ceil__(self) -> Any:
        return _ceiling(self)

    def __floor__(self) -> Any:
        return _call("floor", self)

    def __index__(self) -> int:
        return int(float(self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **more: Any) -> Any:
        """numpy's elementwise functions of single numbers."""
        traced = _UFUNCS.get(ufunc.__name__)
        if method == "__call__" and traced is not None and all(np.ndim(_plain(v)) == 0 for v in inputs):
            return traced(*(v if isinstance(v, Constant) else float(v) for v in inputs))
        return getattr(ufunc, method)(*map(_plain, inputs), **more)

    def __array_function__(
        self, function: Any, types: Sequence[type], args: tuple[Any, ...], more: Mapping[str, Any]
    ) -> Any:
        """numpy's other functions; those without a form of their own here give plain results."""
        traced = _FUNCTIONS.get(function.__name__)
        if traced is not None:
            return traced(*args, **more)
        return function(*map(_plain, args), **{name: _plain(value) for name, value in more.items()})


def _quotient(a: float, b: float) -> float:
    return a / b if b else math.nan if not a or math.isnan(a) else math.copysign(math.inf, a)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Traced) else value


def _call(name: str, *values: Any) -> Traced:
    return Traced(_CALLED[name](*map(float, values)), ("call", name, tuple(map(_node, values))))


def _ceiling(value: Any) -> Traced:
    # An operand that is whole needs no rounding.
    whole = isinstance(value, Traced) and value.node[0] == "name" and float(value).is_integer()
    return cast(Traced, value) if whole else _call("ceil", value)


_CALLED: Mapping[str, Callable[..., float]] = {
    "max": max,
    "min": min,
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)) if math.isfinite(x) else x,
    "log2": math.log2,
}
_UFUNCS: Mapping[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "maximum": lambda a, b: _call("max", a, b),
    "minimum": lambda a, b: _call("min", a, b),
    "ceil": lambda a: _ceiling(a),
    "floor": lambda a: _call("floor", a),
    "log2": lambda a: _call("log2", a),
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "where": lambda condition, a, b: a if bool(condition) else b,
    "clip": lambda a, low, high: a if high is None and a >= low else _call("max", a, low),
    "nan_to_num": lambda a, nan=0.0: nan if math.isnan(a) else a,
    "zeros_like": lambda _: 0.0,
    "ones_like": lambda _: 1.0,
    "full_like": lambda _, value: value,
    "shape": lambda _: (),
    "ndim": lambda _: 0,
}


def floats(value: Any) -> npt.NDArray[np.float64]:
    """The value of a formula as an array; a traced number stays itself, so that its formula is kept."""
    if value.__class__ is Traced:
        return cast(npt.NDArray[np.float64], value)
    return np.asarray(value, dtype=np.float64)


def picked(condition: Any, one: Any, other: Any) -> npt.NDArray[np.float64]:
    """As `np.where`; of a single condition the value itself, so that a constant keeps its name."""
    if isinstance(condition, bool | np.bool_):
        return cast(npt.NDArray[np.float64], one if condition else other)
    return cast(npt.NDArray[np.float64], np.where(condition, one, other))


def named(value: T, name: str) -> T:
    """The same number; in a traced run an operand of its own, with how it came about.

    What has a name keeps it, and a factor of 1 needs none.
    """
    if value.__class__ is not Traced:
        return value
    traced = cast(Traced, value)
    node = traced.node
    if node[0] == "name" or node == ("number", 1.0):
        return value
    given = node[0] == "number"
    return cast(T, Traced(float(traced), ("name", name, float(traced), None if given else node)))


def given(value: float, name: str) -> Traced:
    """A number that is an operand as it is."""
    return Traced(float(value), ("name", name, float(value), None))


def solved(value: T, name: str) -> T:
    """A number that was found by trying: in a traced run an operand as it is."""
    return cast(T, given(float(cast(float, value)), name)) if value.__class__ is Traced else value


class Probe:
    """A question, plan, model or card whose numeric attributes are traced under their own names.

    Attributes that `SYMBOLS` does not name stay plain, and so do zeros and degrees of 1: they say nothing.
    """

    target: Any

    def __init__(self, target: object) -> None:
        """Stand in for `target`."""
        self.target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.target, name)
        if isinstance(found, int | float) and not isinstance(found, bool):
            if name not in SYMBOLS or not found or (found == 1 and name in SILENT_ONES):
                return found
            return given(found, name)
        if name in PROBED:
            # Kept, so that what is derived from it is derived once.
            probe = self.__dict__[name] = Probe(found)
            return probe
        if name == "image_size" and found:
            kind = "reference" if hasattr(self.target, "family") else "image"
            return given(found[0], f"{kind}_height"), given(found[1], f"{kind}_width")
        return found

    def __hash__(self) -> int:
        return hash((Probe, self.target))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Probe) and self.target == other.target


def replaced(work: T, **changes: object) -> T:
    """As `dataclasses.replace`, of a probe too."""
    if work.__class__ is Probe:
        return cast(T, Probe(replace(cast(Any, work).target, **changes)))
    return cast(T, replace(cast(Any, work), **changes))


def addends(value: float) -> list[tuple[str, float]]:
    """The summands of a traced sum with the names that they have, empty where they have none."""
    found: list[tuple[str, float]] = []
    nodes: list[Node] = [_node(value)]
    while nodes:
        node = nodes.pop()
        if node[0] == "+":
            nodes += [node[2], node[1]]
        elif node[:2] == ("call", "max"):
            nodes.append(max(node[2], key=_value))
        else:
            found.append((node[1] if node[0] == "name" else "", Traced(_value(node), node)))
    return found


def _value(node: Node) -> float:
    """The number of a node."""
    kind = node[0]
    if kind == "number":
        return cast(float, node[1])
    if kind == "name":
        return cast(float, node[2])
    if kind == "call":
        return _CALLED[node[1]](*map(_value, node[2]))
    return _OPERATORS[kind](_value(node[1]), _value(node[2]))


PROBED = frozenset({"model", "format", "offload"})
SILENT_ONES = frozenset({"data", "tensor", "pipeline", "expert", "cards", "gradient_accumulation"})


_TRACING = frozenset({Probe, Traced})


def operand(near: object, value: float, name: str = "") -> float:
    """A number that no attribute holds; in a traced run an operand, elsewhere the number itself.

    Parameters
    ----------
    near: what the run is of: a `Probe` or a traced number in a traced run. value: the number. name: of the
    operand; a `Constant` has its own. Factors of 0 and 1 stay plain: they say nothing.
    """
    if near.__class__ not in _TRACING or value.__class__ is Traced or not value:
        return value
    if value == 1.0 and not name.endswith("_bytes"):
        return value
    return given(value, name or cast(Constant, value).name)


def operands(near: object, values: N, names: Mapping[str, str]) -> N:
    """As `operand` for the fields of a named tuple, by the names of `names`; zeros stay plain."""
    if near.__class__ is not Probe:
        return values
    changed = {f: given(v, names[f]) for f, v in zip(values._fields, values, strict=True) if f in names and v}
    return values._replace(**changed)


def counted(function: Callable[..., float], model: Any, *args: Any, name: str) -> float:
    """A count over the parts of a model, as one operand in a traced run."""
    if model.__class__ is Probe:
        found = function(model.target, *map(_plain, args))
        return given(found, name) if found else 0.0
    return function(model, *args)


def worked(value: float) -> Worked:
    """The formula and the operands of a traced number; of a plain one the number itself."""
    texts, operands = worked_together({"": value})
    return Worked(texts[""], operands)


def worked_together(values: Mapping[str, float]) -> tuple[dict[str, str], tuple[Operand, ...]]:
    """The formulas of several figures by name, over one list of operands."""
    writer = _Writer()
    texts = {name: writer.text(_node(value)) for name, value in values.items()}
    return texts, tuple(writer.operands.values())


_OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "**": operator.pow,
}
_RANKS = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 3}
_WRITTEN = {float(2**n): f"2**{n}" for n in (10, 20, 30)} | {float(10**n): f"10**{n}" for n in (6, 9, 12)}


class _Writer:
    """Writes formulas out and collects their operands, each name once."""

    def __init__(self) -> None:
        self.operands: dict[str, Operand] = {}

    def text(self, node: Node, rank: int = 0) -> str:
        """A node within an operator of this rank."""
        kind = node[0]
        if kind == "number":
            return _number(node[1], rank)
        if kind == "name":
            return self._name(node)
        if kind == "call":
            return f"{node[1]}({', '.join(self.text(n) for n in node[2])})"
        own = _RANKS[kind]
        if kind == "-" and node[1] == ("number", 0.0):
            return self._bracketed(f"-{self.text(node[2], 3)}", 1, rank)
        # Subtraction and division do not regroup; a power binds its right side first.
        left = self.text(node[1], own + 1 if kind == "**" else own)
        right = self.text(node[2], own if kind in ("+", "*") else own + 1)
        return self._bracketed(f"{left} {kind} {right}" if own < 3 else f"{left}{kind}{right}", own, rank)

    @staticmethod
    def _bracketed(text: str, own: int, rank: int) -> str:
        return f"({text})" if own < rank else text

    def _name(self, node: Node) -> str:
        _, name, value, inner = node
        wanted, n = name, 1
        while True:
            found = self.operands.get(wanted)
            if found is None:
                break
            if found.value == value:
                return cast(str, wanted)
            n += 1
            wanted = f"{name}_{n}"
        symbol = SYMBOLS.get(name, Symbol("", name.replace("_", " ")))
        # Its place first, so that operands stand in the order in which they are met.
        self.operands[wanted] = Operand(wanted, value, symbol.unit, symbol.text)
        if inner is not None:
            expression = self.text(inner)
            self.operands[wanted] = Operand(wanted, value, symbol.unit, symbol.text, expression)
        return cast(str, wanted)


def _number(value: float, rank: int) -> str:
    if value in _WRITTEN:
        return _WRITTEN[value] if rank <= 3 else f"({_WRITTEN[value]})"
    if not math.isfinite(value):
        return repr(value)
    share = Fraction(value).limit_denominator(12)
    if share.denominator in (3, 6, 7, 9, 11, 12) and float(share) == value:
        return f"({share.numerator} / {share.denominator})"
    text = str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    return f"({text})" if value < 0 and rank else text
