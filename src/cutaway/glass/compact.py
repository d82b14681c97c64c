"""Scripts and styles without the whitespace and comments that only their readers need.

Tokens stay as they are, so a script means the same; the sources end statements with semicolons.
"""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<word>[\w$#]+)
    |(?P<regex>/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\n*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\n])*/[a-z]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_BEFORE_REGEX = {"return", "typeof", "case", "in", "of"}  # words after which / begins a pattern
_STYLE_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STYLE_SPACE = re.compile(r"\s*([{};,])\s*|(:) +|\s+")


def tokens(script: str) -> Iterator[str]:
    """The tokens of a script, whitespace and comments as one blank."""
    place, last = 0, ""
    while place < len(script):
        found = _TOKEN.match(script, place)
        assert found is not None  # any character is a sign
        text, kind = found[0], found.lastgroup
        if text == "`":
            text = script[place : _template_end(script, place)]
        elif kind == "regex" and (last[-1:] in ")]}" or _is_value(last)):
            text = "/"  # a division
        place += len(text)
        yield " " if kind == "space" else text
        if kind != "space":
            last = text


def _is_value(token: str) -> bool:
    return token not in _BEFORE_REGEX and re.match(r"[\w$\"'`]", token) is not None


def _template_end(script: str, start: int) -> int:
    """Where a text in backticks ends; what stands in its `${…}` may hold further ones."""
    place = start + 1
    while script[place] != "`":
        if script[place] == "\\":
            place += 2
        elif script.startswith("${", place):
            depth, place = 1, place + 2
            while depth:
                if script[place] == "`":
                    place = _template_end(script, place)
                    continue
                depth += {"{": 1, "}": -1}.get(script[place], 0)
                place += 1
        else:
            place += 1
    return place + 1


def compact_script(script: str) -> str:
    """The script with blanks only where two tokens would become one."""
    parts: list[str] = []
    last, blank = "", False
    for token in tokens(script):
        if token == " ":
            blank = True
            continue
        if blank and last:
            joined = last[-1] + token[0]
            if re.fullmatch(r"[\w$#]{2}|\+\+|--|//|/\*", joined):
                parts.append(" ")
        parts.append(token)
        last, blank = token, False
    return "".join(parts) + "\n"


def compact_style(style: str) -> str:
    """The style sheet without comments, with whitespace only where it separates."""
    bare = _STYLE_COMMENT.sub("", style)
    return _STYLE_SPACE.sub(lambda found: found[1] or found[2] or " ", bare).strip() + "\n"
