"""Pre-training and fine-tuning (C15): a trained model learns a new word in seconds."""

import copy
from collections.abc import Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F

from cutaway.decode import Translator
from cutaway.decode.stepper import pad
from cutaway.lessons.lesson import Claim, Picture, Question, Said, Series, Step
from cutaway.model import Transformer

NEW = {
    "fr": (
        ("The robot is in the garden.", "Le robot est dans le jardin."),
        ("The robot is under the table.", "Le robot est sous la table."),
        ("A robot walks on the street.", "Un robot marche dans la rue."),
        ("There is a robot on the hill.", "Il y a un robot sur la colline."),
        ("The girl loves the robot.", "La fille aime le robot."),
        ("The robot is small.", "Le robot est petit."),
        ("The robot is near the house.", "Le robot est près de la maison."),
        ("There is a robot in the kitchen.", "Il y a un robot dans la cuisine."),
    ),
    "zh": (
        ("The robot is in the garden.", "机器人在花园里。"),
        ("The robot is under the table.", "机器人在桌子下面。"),
        ("A robot walks on the street.", "一个机器人在街上走。"),
        ("There is a robot on the hill.", "山丘上有一个机器人。"),
        ("The girl loves the robot.", "女孩爱机器人。"),
        ("The robot is small.", "机器人很小。"),
        ("The robot is near the house.", "机器人在房子旁边。"),
        ("There is a robot in the kitchen.", "厨房里有一个机器人。"),
    ),
}
UNSEEN = {
    "fr": (
        ("The robot is on the mat.", "Le robot est sur le tapis."),
        ("There is a robot on the table.", "Il y a un robot sur la table."),
    ),
    "zh": (
        ("The robot is on the mat.", "机器人在垫子上。"),
        ("There is a robot on the table.", "桌子上有一个机器人。"),
    ),
}
OLD = "The cat is on the mat."
STEPS, RATE = 40, 5e-4

Pairs = Sequence[tuple[str, str]]


def fine_tune(translator: Translator, model: Transformer, pairs: Pairs) -> list[float]:
    """Adam on a handful of pairs, all in one batch; returns the loss a token at each step."""
    tokenizer, target_tokenizer = translator.tokenizer, translator.target_tokenizer
    device = torch.device("cpu")
    source = pad([tokenizer.encode(a, end=True) for a, _ in pairs], tokenizer.pad, device)
    rows = [target_tokenizer.encode(b, start=True, end=True) for _, b in pairs]
    target = pad(rows, target_tokenizer.pad, device)
    fed, gold = target[:, :-1], target[:, 1:]
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98))
    losses = []
    for _ in range(STEPS):
        logits = model(source, fed)
        loss = F.cross_entropy(
            logits.flatten(0, 1), gold.flatten(), ignore_index=target_tokenizer.pad
        )
        losses.append(float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return losses


def fine_tuning_step(translator: Translator) -> Step:
    """The trained model and an untrained one learn the same eight sentences."""
    language = (translator.folder.languages or ("en", "fr"))[1]
    new, unseen = NEW.get(language, NEW["fr"]), UNSEEN.get(language, UNSEEN["fr"])
    tuned = copy.deepcopy(translator.model).eval()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        fresh = Transformer(translator.model.config).eval()
    tuned_losses = fine_tune(translator, tuned, new)
    fresh_losses = fine_tune(translator, fresh, new)
    texts = [source for source, _ in unseen]
    right = [target for _, target in unseen]
    before = [one.text for one in translator.translate([*texts, OLD], beam=1)]
    after_tuning = Translator(replace(translator.folder, model=tuned))
    after = [one.text for one in after_tuning.translate([*texts, OLD], beam=1)]
    from_scratch = Translator(replace(translator.folder, model=fresh))
    scratch = [one.text for one in from_scratch.translate(texts, beam=1)]
    lines = "\n".join(
        f"  {text}\n    {a}  →  {b}   ({c})"
        for text, a, b, c in zip(texts, before, after, scratch, strict=False)
    )
    return Step(
        title=Said("Pre-train once, fine-tune for seconds", "预训练一次，微调几秒"),
        text=Said(
            f"Your model knows no robots. Show a copy {len(new)} sentences with one, {STEPS} "
            "times. A fresh model of the same size gets the same. Then ask both about sentences "
            "neither has seen: before → after fine-tuning (and the fresh model):\n"
            f"{lines}\n"
            f"And what it knew: {OLD} → {after[-1]}\n"
            "The copy had to learn one word; grammar, places and numbers were there already. "
            "That is why large models are trained once and tuned many times.",
            f"你的模型没见过机器人。给它的一个副本看 {len(new)} 个含 robot 的句子，看 {STEPS} 遍；"
            "一个同样大小的新模型也照样看。然后问两者都没见过的句子："
            f"微调前 → 微调后（括号里是新模型）：\n{lines}\n"
            f"原来会的：{OLD} → {after[-1]}\n"
            "副本只需学一个词，语法、地点、数量都是现成的。"
            "所以大模型只训练一次，却可以微调许多次。",
        ),
        pictures=(
            Picture(
                Said("loss a token on the new sentences", "新句子上每个词元的损失"),
                "curves",
                (
                    Series(Said("pre-trained", "预训练过"), range(STEPS), tuned_losses),
                    Series(Said("from scratch", "从零开始"), range(STEPS), fresh_losses),
                ),
                x=Said("step", "步"),
                y=Said("loss", "损失"),
            ),
        ),
        claims=(
            Claim(
                Said(
                    "The pre-trained copy translates the unseen sentences rightly afterwards",
                    "微调之后，副本能正确翻译没见过的句子",
                ),
                after[:-1] == right and before[:-1] != right,
            ),
            Claim(
                Said("The fresh model, given the same, does not", "新模型看了同样的句子，仍然不会"),
                scratch != right,
            ),
            Claim(
                Said("The copy still knows the cat on the mat", "副本仍然会翻译垫子上的猫"),
                after[-1] == before[-1],
            ),
        ),
        question=Question(
            Said(
                "Eight sentences about a robot: enough to learn English and French from?",
                "八句关于机器人的话，够从零学会两种语言吗？",
            ),
            Said(
                "Not from nothing; but enough for one new word in a language known already.",
                "从零开始不够；但在已经会的语言里学一个新词，够了。",
            ),
        ),
        codes=("C15",),
    )
