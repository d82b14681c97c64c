"""English and Chinese complete: every key in both, every text on screen from a key."""

import json
import re
from importlib import resources

import pytest

from cutaway.serve.session import Session
from tests.browser.conftest import Watched

WEB = resources.files("cutaway").joinpath("web")
TEXT = "The cat is on the mat."


def catalogue(code: str) -> dict[str, str]:
    words: dict[str, str] = json.loads(WEB.joinpath("locales", f"{code}.json").read_text("utf-8"))
    return words


def sources() -> str:
    files = [entry for entry in WEB.iterdir() if entry.name.endswith((".js", ".html"))]
    return "\n".join(entry.read_text("utf-8") for entry in files)


def test_both_languages_have_the_same_keys_and_parameters() -> None:
    english, chinese = catalogue("en"), catalogue("zh")
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        assert set(re.findall(r"\{(\w+)\}", text)) == set(re.findall(r"\{(\w+)\}", chinese[key])), (
            key
        )
        assert text.strip(), key
        assert chinese[key].strip(), key


def test_chinese_is_chinese() -> None:
    same = {key for key, text in catalogue("zh").items() if not re.search(r"[一-鿿]", text)}
    terms = {"map.probabilities", "learn.bleu"}  # names that are the same everywhere
    assert {key for key in same if not key.startswith("op.")} == terms


@pytest.mark.browser
def test_a_refusal_is_told_in_the_readers_language(
    watched: Watched, served: tuple[str, Session]
) -> None:
    url, _ = served
    watched.go(f"{url}#/translate?lang=zh&text={TEXT}")
    watched.page.fill("#text", "the " * 400)
    watched.page.press("#text", "Enter")
    watched.page.wait_for_selector("#message:not([hidden])")
    told = watched.page.inner_text("#message")
    assert "请一次输入一句" in told
    assert not re.search(r"[A-Za-z]{3}", told)


def test_every_key_used_exists_and_every_key_is_used() -> None:
    code, english = sources(), catalogue("en")
    plain = set(re.findall(r'\bt\("([\w.]+)"', code)) | set(
        re.findall(r'data-(?:words|placeholder)="([\w.]+)"', code)
    )
    assert plain <= english.keys(), plain - english.keys()
    stems = {stem for stem in re.findall(r"`([a-z.]+\.)\$\{", code) if stem}
    texts = set(re.findall(r'"([\w.]+)"', code))
    unused = {
        key
        for key in english
        if key not in plain and key not in texts and not any(key.startswith(s) for s in stems)
    }
    assert unused == set()


VIEWS = [
    "translate",
    f"translate?text={TEXT}&beam=3&step=1",
    f"look?text={TEXT}&place=",
    f"look?text={TEXT}&at=decoder.layers.0.self_attention.masked[0,0,1,1]",
    f"look?text={TEXT}&at=embedding.weight[3,1]",
    f"look?text={TEXT}&tab=formula&at=encoder.layers.0.feed_forward_add_norm.normed[0,1,1]",
    f"look?text={TEXT}&tab=code&at=encoder.layers.0.feed_forward_add_norm.normed[0,1,1]",
    f"look?text={TEXT}&tab=words&at=encoder.layers.0.self_attention.weights[0,0,1,1]",
    f"look?text={TEXT}&play=4&at=encoder.layers.0.self_attention.weights[0,0,1,1]",
    f"look?text={TEXT}&change=silence:decoder.layers.0.cross_attention:0",
    f"zoom?text={TEXT}&at=encoder.layers.0.self_attention.weights[0,0,1,1]",
    f"walk?text={TEXT}&walk=7&at=encoder.layers.0.self_attention.weights[0,0,1,1]",
    f"training?text={TEXT}&place=decoder.layers.0.feed_forward",
    f"training?text={TEXT}&phase=update&at=embedding.weight.after[3,1]",
    f"compare?text={TEXT}&other=The dog sees the tree.",
    f"compare?text={TEXT}&change=order:5,4,3,2,1,0",
    *(f"pictures?text={TEXT}&picture={name}" for name in ("heads", "positions")),
    *(f"pictures?text={TEXT}&picture={name}" for name in ("certainty", "lens", "vocabulary")),
    f"look?text={TEXT}&at=decoder.output[0,0,1]&path=decoder.output[0,0,1];embedding.weight[3,1]",
]

UNTRANSLATED = """
() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    const skipped = 'script, noscript, style, [translate=no], math';
    if (!parent.closest(skipped) && parent.offsetParent !== null
        && /[A-Za-z\\u4e00-\\u9fff]{2,}/.test(node.textContent.replace(/⟦.*?⟧/gs, '')))
      found.push(node.textContent.trim());
  }
  for (const element of document.querySelectorAll('[aria-label], [title], [placeholder]')) {
    if (element.closest('[translate=no]') || element.offsetParent === null) continue;
    for (const name of ['aria-label', 'placeholder']) {
      const text = element.getAttribute(name) ?? '';
      const bare = /[A-Za-z]{3,}/.test(text.replace(/⟦.*?⟧/gs, '')) && !text.includes('⟦');
      if (bare) found.push(`${name}: ${text}`);
    }
  }
  return found;
}
"""


@pytest.mark.browser
def test_no_text_on_screen_escapes_translation(
    watched: Watched, served: tuple[str, Session]
) -> None:
    """In a language made of brackets, whatever has none was written into the code."""
    url, _ = served
    bare: dict[str, list[str]] = {}
    for view in VIEWS:
        path, _, query = view.partition("?")
        watched.go(f"{url}#/{path}?lang=xx&{query}")
        watched.page.wait_for_timeout(150)
        if found := watched.page.evaluate(UNTRANSLATED):
            bare[view] = found
    assert bare == {}
    assert watched.complaints == []
