"""The routes: what they answer."""

import struct
from pathlib import Path
from typing import Any

import pytest
import torch

from cutaway.decode import Translator
from cutaway.glass.html import to_html
from cutaway.serve.app import create_app
from tests.serve.asking import TEXT, error, translate
from tests.serve.conftest import Client, serving


def test_the_page_and_its_files_come_with_a_policy(client: Client) -> None:
    for path, kind in (("/", "text/html"), ("/web/app.js", "javascript"), ("/style.css", "css")):
        response = client.get(path)
        assert response.status_code == 200
        assert kind in response.headers["content-type"]
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in response.headers


def test_only_modules_of_the_page_are_served(client: Client) -> None:
    for path in ("/web/nothing.js", "/web/index.html", "/web/..%2Fconfig.js", "/web/locales/en.js"):
        assert client.get(path).status_code == 404
    assert "no module 'nothing'" in error(client.get("/web/nothing.js"))


def test_the_pages_own_files_are_compressed_for_whoever_takes_gzip(client: Client) -> None:
    for path in ("/", "/web/app.js", "/style.css"):
        plain = client.get(path, headers={"Accept-Encoding": "identity"})
        packed = client.get(path, headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.text == plain.text
        assert int(packed.headers["content-length"]) < len(plain.content) / 2
    key = translate(client)["key"]
    numbers = client.get(f"/glass/{key}/buffer/0", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in numbers.headers


def test_a_translation_is_recorded_whole(client: Client) -> None:
    answer = translate(client, beam=3)
    session = client.session
    direct = session.translator.translate([TEXT], beam=3)[0]
    assert answer["output"] == direct.text
    assert answer["ids"] == [token.id for token in direct.tokens]
    header = client.get(f"/glass/{answer['key']}").json()
    assert header["format"] == "cutaway-trace"
    assert len(header["labels"]["source"]) == len(answer["source"])
    assert header["labels"]["target"][0] == "<start>"
    assert header["meta"]["translation"]["output"] == answer["output"]
    trace = session.run(answer["key"]).served.trace
    chosen = trace["probabilities"].tensor[0].gather(1, torch.tensor(answer["ids"])[:, None])
    costs = [token.log_probability for token in direct.tokens]
    assert torch.allclose(chosen[:, 0].log(), torch.tensor(costs), atol=1e-4)


def test_no_sentence_of_a_text_is_lost(client: Client) -> None:
    """The whole text is translated; a run is one sentence, the first."""
    text = "The cat sees the tree.\nA child looks at the house."
    answer = client.post("/api/translate", json={"text": text, "beam": 3}).json()
    first, second = text.split("\n")
    translator = client.session.translator
    expected = [translator.translate([one], beam=3)[0].text for one in (first, second)]
    assert answer["whole"]["sentences"] == [first, second]
    assert answer["whole"]["output"] == "\n".join(expected)
    assert (answer["text"], answer["output"]) == (first, expected[0])
    assert "whole" not in translate(client)


def test_numbers_travel_as_bytes(client: Client) -> None:
    key = translate(client)["key"]
    header = client.get(f"/glass/{key}").json()
    value = next(v for v in header["values"] if v["address"] == "probabilities")
    trace = client.session.run(key).served.trace
    tensor = trace["probabilities"].tensor
    one = client.get(f"/glass/{key}/buffer/{value['buffer']}").content
    assert one == tensor.contiguous().numpy().tobytes()
    part = client.get(f"/glass/{key}/buffer/{value['buffer']}?start=5&stop=9").content
    assert part == one[20:36]
    block = client.get(
        f"/glass/{key}/window", params={"address": "probabilities", "spans": "0:1,1:3,0:5"}
    )
    assert block.headers["x-shape"] == "1,2,5"
    assert block.content == tensor[:, 1:3, :5].contiguous().numpy().tobytes()


def test_many_numbers_travel_in_one_answer(client: Client) -> None:
    key = translate(client)["key"]
    header = client.get(f"/glass/{key}").json()
    place, value = next(
        (n, v) for n, v in enumerate(header["values"]) if v["address"] == "probabilities"
    )
    buffer = value["buffer"]
    tensor = client.session.run(key).served.trace["probabilities"].tensor
    flat = tensor.flatten()
    parts = [
        {"buffer": buffer, "start": 3, "stop": 8},
        {"buffer": buffer, "cells": [12, 9, 5, 2, 16, 13]},
        {"value": place},
        {"buffer": buffer, "cells": []},
        {"buffer": buffer, "start": 0, "stop": flat.numel()},
    ]
    answer = client.post(f"/glass/{key}/numbers", json={"parts": parts}).content
    assert answer[:20] == flat[3:8].numpy().tobytes()
    assert answer[24:48] == flat[[12, 9, 5, 2, 16, 13]].numpy().tobytes()
    assert struct.unpack("<3d", answer[48:72]) == (tensor.min(), tensor.max(), 1.0)
    assert answer[72:].startswith(flat.numpy().tobytes())

    def refused(part: dict[str, Any]) -> str:
        response = client.post(f"/glass/{key}/numbers", json={"parts": [part]})
        assert response.status_code in (400, 404)
        return error(response)

    assert "no buffer 99999" in refused({"buffer": 99999, "start": 0, "stop": 1})
    assert "no value 99999" in refused({"value": 99999})
    assert f"has {flat.numel()}" in refused({"buffer": buffer, "cells": [0, flat.numel()]})
    assert "cells -1 to 0" in refused({"buffer": buffer, "cells": [-1, 0]})
    rows, cols = tensor.shape[1:]
    whole = {"buffer": buffer, "offset": 0, "strides": [cols, 1], "shape": [rows, cols]}
    assert f"has {flat.numel()}" in refused({**whole, "offset": 1, "size": [1, 1]})
    assert f"has {flat.numel()}" in refused({**whole, "strides": [-1, 1], "size": [1, 1]})
    assert "ask for at most" in refused({**whole, "size": [rows + 1, 1]})
    assert "ask for at most" in refused({**whole, "size": [0, 1]})
    endless = {"strides": [0, 0], "shape": [10**6, 10**6], "size": [1, 1]}
    assert "too many cells" in refused({**whole, **endless})


def test_a_cell_is_explained_and_the_run_proven(client: Client) -> None:
    key = translate(client)["key"]
    answer = client.get(
        f"/glass/{key}/explain",
        params={"address": "encoder.layers.0.self_attention.scores[0,1,2,3]"},
    ).json()
    assert abs(answer["difference"]) < 1e-5 * max(1.0, abs(answer["value"]))
    proof = client.get(f"/glass/{key}/prove", params={"pattern": "decoder.*weights"}).json()
    assert proof["proven"] == proof["cells"] > 0
    assert client.get(f"/glass/{key}/diff/{key}").json()["same"] is True


def test_a_word_can_be_forced_and_the_rest_follows(client: Client) -> None:
    first = translate(client)["ids"][0]
    other = next(number for number in range(270, 290) if number != first)
    assert translate(client, prefix=[other])["ids"][0] == other


def test_drawing_depends_on_the_seed_alone(client: Client) -> None:
    one = translate(client, sample=3, temperature=2.0)["ids"]
    assert one == translate(client, sample=3, temperature=2.0)["ids"]
    others = [translate(client, sample=seed, temperature=2.0)["ids"] for seed in (4, 5, 6, 7)]
    assert any(ids != one for ids in others)


def test_a_training_step_on_a_text_of_two_sentences_takes_the_first(client: Client) -> None:
    """As the translation does; a pair that is given with its target is taken as it is."""
    both = f"{TEXT} The dog sees the tree."
    first = translate(client, both)
    answer = client.post("/api/training", json={"text": both}).json()
    assert (answer["source"], answer["target"]) == (TEXT, first["output"])
    given = client.post("/api/training", json={"text": both, "target": "Le chat. Le chien."})
    assert given.json()["source"] == both


def test_a_training_step_leaves_the_model_as_it_was(client: Client) -> None:
    session = client.session
    before = {name: p.clone() for name, p in session.translator.model.state_dict().items()}
    answer = client.post("/api/training", json={"text": TEXT, "target": "Le chat voit."}).json()
    after = session.translator.model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(p.grad is None for p in session.translator.model.parameters())
    trace = session.run(answer["key"]).served.trace
    tokens = answer["facts"]["tokens"]
    assert float(trace["loss"].tensor) / tokens == pytest.approx(answer["loss"])
    assert float(trace["norm"].tensor) == answer["facts"]["gradient_norm"]
    moved = trace["embedding.weight.after"].tensor - trace["embedding.weight"].tensor
    assert moved.abs().max() > 0
    assert {value.phase for value in trace} == {"forward", "backward", "update"}


def test_a_change_is_made_to_one_run_only(client: Client) -> None:
    plain = translate(client)
    attention = "decoder.layers.0.cross_attention"
    silent = translate(client, change=f"silence:{attention}:1")
    session = client.session
    joined = session.run(silent["key"]).served.trace[f"{attention}.concatenated"].tensor
    width = joined.shape[-1] // 3
    assert joined[..., width : 2 * width].abs().max() == 0
    assert joined[..., :width].abs().max() > 0
    assert translate(client) == {**plain}
    cell = "encoder.layers.0.feed_forward.hidden[0,1,2]"
    edited = session.run(translate(client, change=f"set:{cell}=7.5")["key"]).served.trace
    assert edited["encoder.layers.0.feed_forward.activated[0,1,2]"].tensor == 7.5
    unmasked = translate(client, change="unmask:decoder.layers.0.self_attention")
    weights = session.run(unmasked["key"]).served.trace["decoder.layers.0.self_attention.weights"]
    assert weights.tensor[0, 0, 0, 1] > 0


def test_a_mask_can_be_moved(client: Client) -> None:
    attention = "decoder.layers.0.self_attention"
    for by, seen in ((0, 3), (1, 4), (-1, 2), (2, 5), (-9, 0)):
        moved = translate(client, change=f"shift:{attention}:{by}")
        trace = client.session.run(moved["key"]).served.trace
        weights = trace[f"{attention}.weights"].tensor[0, 0, 2]  # the third query
        assert int((weights > 0).sum()) == min(seen, len(weights))


def test_another_model_answers_beside_the_pages_own(client: Client, folder: Path) -> None:
    other = Translator.load(folder)
    with torch.no_grad():
        other.model.embedding.weight.mul_(1.5)
    app = create_app(Translator.load(folder), folder=folder, compared={"warmer": other})
    with serving(app) as both:
        assert both.get("/api/info").json()["compared"] == ["warmer"]
        mine, its = (translate(both, model=name) for name in ("", "warmer"))
        tables = [
            both.session.run(answer["key"]).served.trace["embedding.weight"].tensor
            for answer in (mine, its)
        ]
        assert torch.equal(tables[0] * 1.5, tables[1])
        assert mine["ids"] == translate(client)["ids"]
        wrong = both.post("/api/translate", json={"text": TEXT, "model": "colder"})
        assert wrong.status_code == 422
        assert "'colder'" in error(wrong)
        assert "warmer" in error(wrong)


def test_words_can_be_put_in_another_order(client: Client) -> None:
    plain, turned = translate(client), translate(client, change="order:5,4,3,2,1,0")
    assert turned["source"][:-1] == plain["source"][:-1][::-1]
    assert turned["source"][-1] == plain["source"][-1]


def test_a_changed_model_decodes_greedily_to_the_end(client: Client) -> None:
    """Correcting a guess word by word finds what step by step decoding would."""
    session = client.session
    for text in (TEXT, "A child sees the tree.", "The dog sleeps under the house."):
        answer = translate(client, text, change="set:decoder.norm.weight[3]=-2")
        trace = session.run(answer["key"]).served.trace
        logits = trace["output.logits"].tensor[0].clone()
        logits[:, list(session.translator.special.forbidden)] = -torch.inf
        assert logits.argmax(-1).tolist() == answer["ids"]


def test_a_moment_of_training_can_be_asked(client: Client, folder: Path) -> None:
    names = [item["name"] for item in client.get("/api/info").json()["snapshots"]]
    assert names == ["0", "3", "8", "24"]
    assert translate(client, snapshot="0")["score"] < translate(client, snapshot="24")["score"]


def test_the_run_as_a_file(client: Client) -> None:
    key = translate(client)["key"]
    response = client.get(f"/glass/{key}/page.html?lang=zh")
    assert response.headers["content-disposition"].startswith("attachment")
    trace = client.session.run(key).served.trace
    assert len(response.text) == pytest.approx(len(to_html(trace)), rel=0.01)


def test_recorded_runs_alone_can_be_shown(client: Client) -> None:
    key = translate(client)["key"]
    trace = client.session.run(key).served.trace
    with serving(create_app(traces={"mine": trace})) as alone:
        assert alone.get("/api/info").json()["translates"] is False
        assert alone.get("/glass/mine").status_code == 200
        assert "serve a model folder" in error(alone.post("/api/translate", json={"text": "a"}))


def test_an_empty_page_has_something_to_try(folder: Path) -> None:
    with serving(create_app(Translator.load(folder), folder=folder)) as client:
        found = client.get("/api/info").json()["examples"]
    assert len(found) == 3
    assert "The cat is on the mat." in found


def test_a_lesson_is_told_with_its_runs(client: Client) -> None:
    names = [lesson["id"] for lesson in client.get("/api/info").json()["lessons"]]
    assert "masked-attention" in names
    lesson = client.post("/api/lessons/masked-attention", json={}).json()
    assert set(lesson["title"]) == {"en", "zh"}
    keys = {step["trace"] for step in lesson["steps"] if step["trace"]}
    assert keys
    for key in keys:
        assert client.get(f"/glass/{key}").status_code == 200
