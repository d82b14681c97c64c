"""A compact script has the tokens of its source."""

import pytest

from cutaway.glass.compact import compact_script, compact_style, tokens
from cutaway.glass.html import web


def meaning(script: str) -> list[str]:
    return [token for token in tokens(script) if token != " "]


@pytest.mark.parametrize("name", ["rules", "table", "dom", "numbers", "replay"])
def test_tokens_of_the_page_stay(name: str) -> None:
    source = web(f"{name}.js")
    compact = compact_script(source)
    assert meaning(compact) == meaning(source)
    assert len(compact) < 0.8 * len(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b + +c - -d;", "a=b+ +c- -d;\n"),
        ('say("a  //  b"); // why\nnext();', 'say("a  //  b");next();\n'),
        ("x = `a  ${f(`b  ${1}`)}  c`;", "x=`a  ${f(`b  ${1}`)}  c`;\n"),
        ("return  /[/ ]+/g.test( a ) / b / 2;", "return/[/ ]+/g.test(a)/b/2;\n"),
        ("if (a)\n  b();\nelse c();", "if(a)b();else c();\n"),
        ("/** words\n * more */\nconst f = (x) => x in y;", "const f=(x)=>x in y;\n"),
        ('x = "it\\"s  so";', 'x="it\\"s  so";\n'),
    ],
)
def test_what_separates_and_what_is_text_stays(source: str, expected: str) -> None:
    assert compact_script(source) == expected


def test_styles_keep_what_separates() -> None:
    source = '/* why */\n.a .b:hover,\n.c > d {\n  margin: 0 4px;\n  content: "→";\n}\n'
    assert compact_style(source) == '.a .b:hover,.c > d{margin:0 4px;content:"→";}\n'
