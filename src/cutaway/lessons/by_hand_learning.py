"""The end of `by-hand`: words fed back, a few seconds of learning, and what is said then."""

from collections.abc import Iterator

from cutaway.corpus.embedded import thrones
from cutaway.lessons.by_hand_model import (
    PAIRS,
    UPDATES,
    Continuation,
    article_model,
    continued,
    ids,
    recorded,
    trained,
)
from cutaway.lessons.lesson import Claim, Matrix, Picture, Question, Said, Series, Step


def learning() -> Iterator[Step]:
    """Fed back untrained; a few seconds of training; fed back again, until <end>."""
    prompt, right = thrones().prompt, thrones().continuation
    before = continued(article_model(), prompt)
    yield Step(
        Said("Feed the word back", "把词送回去"),
        Said(
            "The predicted word is appended to the input, not put in its place: after <start> "
            "comes <start> you. Then the next word is predicted, until <end>. Now with “the” in "
            f"the sentence. Our model has learned nothing yet: after “{prompt}” it says “"
            f"{' '.join(before.words)}” and shows no sign of stopping; we cut it off at 12.",
            "预测出的词接在输入后面，而不是取代它：<start> 之后是 <start> you。"
            "再预测下一个，直到 <end>。从这里起，句子里的 “the” 也放回来了。"
            f"模型还什么都没学：在 “{prompt}” 之后，它说 “{' '.join(before.words)}”，"
            "也看不出要停；到 12 个词我们就打断它。",
        ),
        matrices=(_chances(before),),
        claims=(
            Claim(
                Said("untrained, it does not say it", "没训练，它说不出来"),
                " ".join(before.words) != f"{right} <end>",
            ),
        ),
        codes=("A24",),
    )
    learned = trained()
    yield Step(
        Said("Let it learn", "让它学一会儿"),
        Said(
            f"{UPDATES} small steps with all three sentences, from these very weights: at each "
            "position the loss is −log of the chance it gave the right word; every weight, table "
            "and norm moves a little so that the loss falls.",
            f"从这套权重出发，用三句话走 {UPDATES} 小步：每个位置的损失是它给正确的词的概率取 "
            "−log；"
            "所有的权重、嵌入表和归一化参数都挪动一点，让损失下降。",
        ),
        pictures=(
            Picture(
                Said("Loss", "损失"),
                "curves",
                (Series(Said("loss", "损失"), list(range(1, UPDATES + 1)), learned.losses),),
                Said("update", "步数"),
                Said("loss", "损失"),
            ),
        ),
        matrices=(
            Matrix(
                Said("loss", "损失"),
                [[learned.losses[0], learned.losses[-1]]],
                columns=(Said("first", "开始"), Said("last", "最后")),
            ),
        ),
        claims=(
            Claim(
                Said("from above 3 to below 0.01", "从 3 以上降到 0.01 以下"),
                learned.losses[0] > 3 and learned.losses[-1] < 0.01,
            ),
        ),
        codes=("A4", "A7"),
    )
    yield _said(prompt, right)


def _said(prompt: str, right: str) -> Step:
    model = trained().model
    after = [(given, follows, continued(model, given)) for given, follows in PAIRS]
    told = {given: run for given, _, run in after}[prompt]
    trace = recorded(model, prompt.split(), ["<start>", *told.words[:-1]])
    proof = trace.prove()
    return Step(
        Said("“you win or you die”", "“you win or you die”"),
        Said(
            f"Now the same model, after “{prompt}”, says “{' '.join(told.words)}”: each word the "
            "most probable one, appended and fed back, until <end>. Open any number of this run: "
            f"all {proof.cells:,} cells are shown with their arithmetic, and recomputed from it.",
            f"现在还是这个模型，在 “{prompt}” 之后说：“{' '.join(told.words)}”。"
            "每次取概率最大的词，接上去再送回，直到 <end>。"
            f"这一遍里的任何一个数都可以点开：全部 {proof.cells:,} 格都带着算式，并照算式重算过。",
        ),
        matrices=[_chances(run, f"{given} …") for given, _, run in after],
        question=Question(
            Said(
                "“you” comes twice. How can the model know which time it is?",
                "“you” 出现了两次。模型怎么知道是第几次？",
            ),
            Said(
                "By its position, and by the words before it: the second one has seen “win or”.",
                "靠位置，也靠前面的词：第二个 “you” 看得见 “win or”。",
            ),
        ),
        claims=(
            Claim(
                Said(
                    "all three sentences are continued word for word, and stop",
                    "三句话都一词不差地接了下去，并且停住",
                ),
                all(run.words == [*follows.split(), "<end>"] for _, follows, run in after),
            ),
            Claim(
                Said(f"it says “{right}”", f"它说的是 “{right}”"),
                told.words[:-1] == right.split(),
            ),
            Claim(
                Said(
                    "every cell equals what its arithmetic gives",
                    "每一格都等于它的算式算出的数",
                ),
                proof.complete,
            ),
        ),
        trace=trace,
        show=f"probabilities[0,0,{ids()['you']}]",
        codes=("A23", "A24", "A25"),
    )


def _chances(run: Continuation, name: str = "P(next)") -> Matrix:
    return Matrix(name, [run.chances], columns=run.words)
