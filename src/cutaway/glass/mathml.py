"""Rules as formulas: MathML in which {out}, {0}, {1}, … stand for names."""

from cutaway.glass.expr import Arg, At, Cast, Expr, Fold, Kth, Let, Op, op
from cutaway.numbers import root, short

_LETTERS = {
    1: ("i",),
    2: ("i", "j"),
    3: ("b", "i", "j"),
    4: ("b", "h", "i", "j"),
}
_INFIX = {
    "eq": "=",
    "ne": "≠",
    "lt": "&lt;",
    "le": "≤",
    "gt": "&gt;",
    "ge": "≥",
    "and": "∧",
    "or": "∨",
    "mod": "mod",
    "xor": "⊻",
    "fmod": "mod",
    "bitand": "&amp;",
    "bitor": "|",
    "bitxor": "⊻",
}
_BIG = {"sum": "∑", "prod": "∏"}
_CONSTANTS = {"inf": "<mi>∞</mi>", "-inf": "<mo>−</mo><mi>∞</mi>", "nan": "<mi>NaN</mi>"}
_FUNCTIONS = {"maximum": "max", "minimum": "min", "sigmoid": "σ"}


def mathml(expr: Expr, rank: int, out: str = "{out}") -> str:
    """`<math>` for result = expression."""
    writer = _Writer(rank)
    index = [writer.variable(f"i{axis}") for axis in range(rank)]
    left = _sub(f"<mi>{out}</mi>", index)
    rows = [f"{left}<mo>=</mo>{writer.write(expr)}"]
    rows += [f"{name}<mo>=</mo>{body}" for name, body in writer.lets]
    if len(rows) == 1:
        return f'<math display="block"><mrow>{rows[0]}</mrow></math>'
    cells = "".join(f'<mtr><mtd columnalign="left"><mrow>{row}</mrow></mtd></mtr>' for row in rows)
    return f'<math display="block"><mtable>{cells}</mtable></math>'


def _sub(symbol: str, index: list[str]) -> str:
    if not index:
        return symbol
    inside = "<mo>,</mo>".join(index)
    return f"<msub>{symbol}<mrow>{inside}</mrow></msub>"


class _Writer:
    def __init__(self, rank: int) -> None:
        letters = _LETTERS.get(rank)
        self.names = {f"i{axis}": letters[axis] if letters else f"i{axis}" for axis in range(rank)}
        self.lets: list[tuple[str, str]] = []

    def variable(self, name: str) -> str:
        shown = self.names.get(name, name)
        letter = shown.rstrip("0123456789")
        if letter != shown and letter:
            return f"<msub><mi>{letter}</mi><mn>{shown[len(letter) :]}</mn></msub>"
        return f"<mi>{shown}</mi>"

    def write(self, expr: Expr, level: int = 0) -> str:
        match expr:
            case str():
                return self.variable(expr)
            case Op():
                return self._operator(expr, level)
            case At(operand, where):
                return _sub(f"<mi>{{{operand}}}</mi>", [self.write(part) for part in where])
            case Let(name, value, body):
                self.lets.append((self.variable(name), self.write(value)))
                return self.write(body, level)
            case Cast(dtype, value):
                return f"<mi>{dtype}</mi><mo>(</mo>{self.write(value)}<mo>)</mo>"
            case Fold() | Arg() | Kth():
                return self._reduction(expr, level)
            case int() | float():
                return _number(expr)
        raise TypeError(f"{expr!r:.80} has no formula")

    def _operator(self, expr: Op, level: int) -> str:
        match expr.head, expr.args:
            case ("add" | "sub") as head, args:
                parts = [self.write(args[0], 1)]
                for part in args[1:]:
                    negative = isinstance(part, (int, float)) and part < 0
                    sign = "−" if (head == "sub") != negative else "+"
                    shown = -part if isinstance(part, (int, float)) and negative else part
                    parts.append(f"<mo>{sign}</mo>{self.write(shown, 1 + (head == 'sub'))}")
                return _paren("".join(parts), level > 1)
            case "mul", args:
                return _paren("<mo>·</mo>".join(self.write(part, 2) for part in args), level > 2)
            case "div", (top, bottom):
                return f"<mfrac>{_row(self.write(top))}{_row(self.write(bottom))}</mfrac>"
            case "neg", (x,):
                return _paren(f"<mo>−</mo>{self.write(x, 2)}", level > 1)
            case "exp", (x,):
                return f"<msup><mi>e</mi>{_row(self.write(x))}</msup>"
            case "pow", (base, power):
                return f"<msup>{_row(self.write(base, 3))}{_row(self.write(power))}</msup>"
            case "sqrt", (x,):
                return f"<msqrt>{self.write(x)}</msqrt>"
            case "rsqrt", (x,):
                return f"<mfrac><mn>1</mn><msqrt>{self.write(x)}</msqrt></mfrac>"
            case "recip", (x,):
                return f"<mfrac><mn>1</mn>{_row(self.write(x))}</mfrac>"
            case "abs", (x,):
                return f"<mrow><mo>|</mo>{self.write(x)}<mo>|</mo></mrow>"
            case "floor", (x,):
                return f"<mrow><mo>⌊</mo>{self.write(x)}<mo>⌋</mo></mrow>"
            case "idiv", (left, right):
                return self.write(op("floor", op("div", left, right)))
            case "where", (test, yes, no):
                condition, first, second = self.write(test), self.write(yes), self.write(no)
                rows = (
                    f"<mtr><mtd>{first}</mtd><mtd><mtext>if </mtext>{condition}</mtd></mtr>"
                    f"<mtr><mtd>{second}</mtd><mtd><mtext>else</mtext></mtd></mtr>"
                )
                return f'<mrow><mo>{{</mo><mtable columnalign="left">{rows}</mtable></mrow>'
            case head, (left, right) if head in _INFIX:
                body = f"{self.write(left, 2)}<mo>{_INFIX[head]}</mo>{self.write(right, 2)}"
                return _paren(body, level > 0)
            case head, () if head in _CONSTANTS:
                return _CONSTANTS[head]
            case head, args:
                inner = "<mo>,</mo>".join(self.write(part) for part in args)
                return f"<mi>{_FUNCTIONS.get(head, head)}</mi><mo>(</mo>{inner}<mo>)</mo>"

    def _reduction(self, expr: Fold | Arg | Kth, level: int) -> str:
        under = "<mo>,</mo>".join(map(self.variable, expr.binds))
        body = expr.body
        if isinstance(expr, Fold) and expr.kind in _BIG:
            match body:
                case Op("where", (test, yes, 0)):
                    under += f"<mo>:</mo>{self.write(test)}"
                    body = yes
            big = f"<munder><mo>{_BIG[expr.kind]}</mo><mrow>{under}</mrow></munder>"
            return _paren(f"{big}{self.write(body, 2)}", level > 2)
        if isinstance(expr, Kth):
            label = "rank" if expr.result is None else "place"
            under = f"{under}<mo>;</mo>{self.write(expr.nth)}"
        else:
            label = expr.kind
        return f"<munder><mi>{label}</mi><mrow>{under}</mrow></munder>{self.write(body, 2)}"


def _row(body: str) -> str:
    return f"<mrow>{body}</mrow>"


def _paren(body: str, needed: bool) -> str:
    return f"<mrow><mo>(</mo>{body}<mo>)</mo></mrow>" if needed else f"<mrow>{body}</mrow>"


def _number(value: float) -> str:
    if value < 0:
        return f"<mo>−</mo>{_number(-value)}"
    inside = root(value)
    if inside is not None:
        return f"<msqrt><mn>{inside}</mn></msqrt>"
    return f"<mn>{short(value, 6)}</mn>"
