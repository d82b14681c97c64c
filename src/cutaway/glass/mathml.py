"""Rules as formulas: MathML in which {out}, {0}, {1}, … stand for names."""

from cutaway.glass.expr import Expr

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


def mathml(expr: Expr, rank: int, out: str = "{out}") -> str:
    """`<math>` for result = expression."""
    writer = _Writer(rank)
    index = [writer.variable(f"i{axis}") for axis in range(rank)]
    left = _sub(f"<mi>{out}</mi>", index)
    lines = writer.lines(expr)
    rows = [f"{left}<mo>=</mo>{lines[-1]}"]
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

    def lines(self, expr: Expr) -> list[str]:
        return [self.write(expr)]

    def variable(self, name: str) -> str:
        shown = self.names.get(name, name)
        letter = shown.rstrip("0123456789")
        if letter != shown and letter:
            return f"<msub><mi>{letter}</mi><mn>{shown[len(letter) :]}</mn></msub>"
        return f"<mi>{shown}</mi>"

    def write(self, expr: Expr, level: int = 0) -> str:
        if isinstance(expr, str):
            return self.variable(expr)
        if not isinstance(expr, tuple):
            return _number(expr)
        head = expr[0]
        if head == "at":
            index = [self.write(part) for part in expr[2]]
            return _sub(f"<mi>{{{expr[1]}}}</mi>", index)
        if head == "let":
            self.lets.append((self.variable(expr[1]), self.write(expr[2])))
            return self.write(expr[3], level)
        if head in ("add", "sub"):
            parts = [self.write(expr[1], 1)]
            for part in expr[2:]:
                negative = isinstance(part, (int, float)) and part < 0
                sign = "−" if (head == "sub") != negative else "+"
                shown = -part if negative else part
                parts.append(f"<mo>{sign}</mo>{self.write(shown, 1 + (head == 'sub'))}")
            return _paren("".join(parts), level > 1)
        if head == "mul":
            body = "<mo>·</mo>".join(self.write(part, 2) for part in expr[1:])
            return _paren(body, level > 2)
        if head == "div":
            top, bottom = self.write(expr[1]), self.write(expr[2])
            return f"<mfrac><mrow>{top}</mrow><mrow>{bottom}</mrow></mfrac>"
        return self._other(expr, level)

    def _other(self, expr: Expr, level: int) -> str:
        head = expr[0]
        if head == "neg":
            return _paren(f"<mo>−</mo>{self.write(expr[1], 2)}", level > 1)
        if head == "exp":
            return f"<msup><mi>e</mi><mrow>{self.write(expr[1])}</mrow></msup>"
        if head == "pow":
            return f"<msup>{_row(self.write(expr[1], 3))}{_row(self.write(expr[2]))}</msup>"
        if head == "sqrt":
            return f"<msqrt>{self.write(expr[1])}</msqrt>"
        if head == "rsqrt":
            return f"<mfrac><mn>1</mn><msqrt>{self.write(expr[1])}</msqrt></mfrac>"
        if head == "recip":
            return f"<mfrac><mn>1</mn><mrow>{self.write(expr[1])}</mrow></mfrac>"
        if head == "abs":
            return f"<mrow><mo>|</mo>{self.write(expr[1])}<mo>|</mo></mrow>"
        if head in ("floor", "idiv"):
            inner = self.write(expr[1] if head == "floor" else ("div", expr[1], expr[2]))
            return f"<mrow><mo>⌊</mo>{inner}<mo>⌋</mo></mrow>"
        if head in _INFIX:
            body = f"{self.write(expr[1], 2)}<mo>{_INFIX[head]}</mo>{self.write(expr[2], 2)}"
            return _paren(body, level > 0)
        if head in _BIG:
            under = "<mo>,</mo>".join(self.variable(name) for name, _ in expr[1])
            body = expr[2]
            if isinstance(body, tuple) and body[0] == "where" and body[3] == 0:
                under += f"<mo>:</mo>{self.write(body[1])}"
                body = body[2]
            big = f"<munder><mo>{_BIG[head]}</mo><mrow>{under}</mrow></munder>"
            return _paren(f"{big}{self.write(body, 2)}", level > 2)
        if head in ("max", "min", "argmax", "argmin", "kth", "argkth"):
            under = "<mo>,</mo>".join(self.variable(name) for name, _ in expr[1])
            label = {"kth": "rank", "argkth": "place"}.get(head, head)
            if head in ("kth", "argkth"):
                under = f"{under}<mo>;</mo>{self.write(expr[3])}"
            return f"<munder><mi>{label}</mi><mrow>{under}</mrow></munder>{self.write(expr[2], 2)}"
        if head == "where":
            test, yes, no = (self.write(part) for part in expr[1:])
            rows = (
                f"<mtr><mtd>{yes}</mtd><mtd><mtext>if </mtext>{test}</mtd></mtr>"
                f"<mtr><mtd>{no}</mtd><mtd><mtext>else</mtext></mtd></mtr>"
            )
            return f'<mrow><mo>{{</mo><mtable columnalign="left">{rows}</mtable></mrow>'
        if head == "cast":
            return f"<mi>{expr[1]}</mi><mo>(</mo>{self.write(expr[2])}<mo>)</mo>"
        if head in ("inf", "-inf", "nan"):
            return {"inf": "<mi>∞</mi>", "-inf": "<mo>−</mo><mi>∞</mi>", "nan": "<mi>NaN</mi>"}[
                head
            ]
        inner = "<mo>,</mo>".join(self.write(part) for part in expr[1:])
        label = {"maximum": "max", "minimum": "min", "sigmoid": "σ"}.get(head, head)
        return f"<mi>{label}</mi><mo>(</mo>{inner}<mo>)</mo>"


def _row(body: str) -> str:
    return f"<mrow>{body}</mrow>"


def _paren(body: str, needed: bool) -> str:
    return f"<mrow><mo>(</mo>{body}<mo>)</mo></mrow>" if needed else f"<mrow>{body}</mrow>"


def _number(value: float) -> str:
    if value < 0:
        return f"<mo>−</mo>{_number(-value)}"
    square = value * value
    if (
        not float(value).is_integer()
        and abs(square - round(square)) < 1e-12 * square
        and square > 1
    ):
        return f"<msqrt><mn>{round(square)}</mn></msqrt>"
    return f"<mn>{value:.6g}</mn>"
