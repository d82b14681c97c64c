"""Films and people: features by hand, the dot product, then features learned from likes alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway import glass
from cutaway.glass import Trace
from cutaway.lessons.lesson import (
    Claim,
    Control,
    Lesson,
    Matrix,
    Picture,
    Question,
    Said,
    Series,
    Step,
)
from cutaway.lessons.recorded import numbers, table
from cutaway.lessons.room import Room

FEATURES = (Said("romance", "浪漫"), Said("action", "动作"), Said("comedy", "喜剧"))
FILMS: dict[str, tuple[float, float, float]] = {  # invented: the features are what they are
    "Letters in June": (0.9, -0.6, 0.0),
    "Two Umbrellas": (0.8, -0.5, 0.7),
    "The Last Harbour": (0.6, 0.1, -0.8),
    "Wedding Crush": (0.7, -0.3, 0.9),
    "Iron Canyon": (-0.6, 0.9, -0.4),
    "Night Convoy": (-0.4, 0.8, -0.7),
    "Turbo Cousins": (-0.3, 0.8, 0.8),
    "Sergeant Noodle": (-0.5, 0.5, 0.9),
    "Desk Jockeys": (-0.2, -0.7, 0.9),
    "Grey Hours": (-0.1, -0.8, -0.8),
    "Storm Chasers": (0.5, 0.8, -0.2),
    "Silent Archive": (-0.7, -0.5, -0.6),
}
PEOPLE: dict[str, tuple[float, float, float]] = {
    "Ana": (0.9, -0.4, 0.3),
    "Bo": (-0.7, 0.9, 0.1),
    "Chen": (0.1, -0.2, 0.9),
    "Dita": (-0.3, -0.6, -0.8),
}
CROWD = 80  # people whose likes are known and whose tastes are not
HIDDEN = 0.15  # share of the likes kept back to check
WIDTH = 3
SEED, UPDATES, RATE = 4, 200, 0.05


class DotProduct(nn.Module):
    """How well a person and a film fit.

    score = Σ_f person_f · film_f
    """

    def forward(self, people: Tensor, films: Tensor) -> Tensor:  # (P, f), (M, f) → (P, M)
        score = people @ films.T
        return score


@dataclass(frozen=True)
class Learned:
    """Features found from likes alone."""

    films: Tensor  # (M, WIDTH), along their own main axes
    losses: list[float]
    seen: float  # share of the known likes reproduced
    unseen: float  # share of the hidden ones
    people: int


@cache
def learned() -> Learned:
    """Fit features of films and people so that the sign of their product is the known like."""
    hand = table(list(FILMS.values()))
    random = torch.Generator().manual_seed(SEED)
    tastes = torch.randn(CROWD, len(FEATURES), generator=random, dtype=torch.float64)
    likes = (tastes @ hand.T > 0).double()  # (P, M): all that is ever told to the model
    hidden = torch.rand(likes.shape, generator=random) < HIDDEN
    films = nn.Parameter(0.1 * torch.randn(len(hand), WIDTH, generator=random, dtype=torch.float64))
    people = nn.Parameter(0.1 * torch.randn(CROWD, WIDTH, generator=random, dtype=torch.float64))
    score = DotProduct()
    optimizer = torch.optim.Adam([films, people], lr=RATE)
    losses = []
    for _ in range(UPDATES):
        guess = score(people, films)
        wrong = F.binary_cross_entropy_with_logits(guess[~hidden], likes[~hidden])
        loss = wrong + 1e-3 * (films.square().mean() + people.square().mean())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(wrong.detach()))
    with torch.no_grad():
        right = (score(people, films) > 0) == (likes > 0)
        _, _, turn = torch.linalg.svd(films - films.mean(0))  # main axes first
        turned = (films - films.mean(0)) @ turn.T
    return Learned(
        turned,
        losses,
        float(right[~hidden].double().mean()),
        float(right[hidden].double().mean()),
        CROWD,
    )


def correlations() -> Tensor:
    """Of each learned axis with each feature by hand, (WIDTH, features)."""
    hand = table(list(FILMS.values()))
    both = torch.cat([learned().films, hand], dim=1).T
    return torch.corrcoef(both)[:WIDTH, WIDTH:]


def explained() -> list[float]:
    """Share of each hand feature's variance that the learned axes account for, together."""
    hand = table(list(FILMS.values()))
    axes = torch.cat([learned().films, torch.ones(len(hand), 1, dtype=torch.float64)], dim=1)
    fitted = axes @ torch.linalg.lstsq(axes, hand).solution
    left = (hand - fitted).square().sum(0)
    shares: list[float] = (1 - left / (hand - hand.mean(0)).square().sum(0)).tolist()
    return shares


def scores(first: float) -> Trace:
    """The product of people and films, recorded; Ana's taste for romance is the learner's."""
    people = table([(first, *PEOPLE["Ana"][1:]), *list(PEOPLE.values())[1:]])
    films = table(list(FILMS.values()))
    fits = DotProduct()
    with torch.no_grad(), glass.record(fits) as trace:
        fits(people, films)
    trace.label(
        persons=list(PEOPLE),
        titles=list(FILMS),
        features=[feature.en for feature in FEATURES],
        axes={
            "people": ("persons", "features"),
            "films": ("titles", "features"),
            "score": ("persons", "titles"),
        },
    )
    return trace


def signed(value: float) -> str:
    """Two digits and a true sign."""
    return f"{value:+.2f}".replace("-", "−")


def tell(room: Room) -> Iterator[Step]:
    """By hand, by dot product, by learning; then what the learned axes mean."""
    yield _by_hand(room)
    yield from _from_likes()


def _by_hand(room: Room) -> Step:
    taste = room.choice("romance", PEOPLE["Ana"][0])
    trace = scores(taste)
    score = numbers(trace, "score")
    ana, first = numbers(trace, "people")[0], table(list(FILMS.values()))[0]
    terms = (ana * first).tolist()
    return Step(
        Said("Features by hand", "手写的特征"),
        Said(
            "Give each film three numbers: how romantic it is, how much action, how funny; minus "
            "means the opposite. Give each person three numbers: how much they like each. Multiply "
            "feature by feature and add. Where the signs agree (a romance and somebody who likes "
            "them, or no romance and somebody who cannot stand them) the term is positive; its "
            "size "
            "says how much it matters. For Ana and Letters in June: "
            + " + ".join(f"({signed(term)})" for term in terms)
            + f" = {sum(terms):.2f}.",
            "给每部电影三个数：有多浪漫、多少动作、多好笑；负数表示相反。给每个人三个数："
            "各有多喜欢。"
            "逐个特征相乘再相加。符号相同（浪漫的片子和喜欢浪漫的人，"
            "或不浪漫的片子和讨厌浪漫的人），"
            "这一项就是正的；数的大小说明它有多重要。Ana 和 Letters in June："
            + " + ".join(f"({signed(term)})" for term in terms)
            + f" = {sum(terms):.2f}。",
        ),
        matrices=(
            Matrix(Said("films", "电影"), list(FILMS.values()), list(FILMS), FEATURES, digits=1),
            Matrix(
                Said("people", "人"), numbers(trace, "people"), list(PEOPLE), FEATURES, digits=1
            ),
            Matrix(
                Said("score = films · people", "得分 = 电影 · 人"),
                score.T,
                list(FILMS),
                list(PEOPLE),
                digits=2,
            ),
        ),
        controls=(
            Control(
                "romance",
                Said("how much Ana likes romance", "Ana 有多喜欢浪漫"),
                "slider",
                taste,
                (-1.0, 1.0, 0.1),
            ),
        ),
        question=Question(
            Said(
                "Bo dislikes romance and loves action. Which sign has his score for Iron Canyon, "
                "which is the opposite of romantic and full of action?",
                "Bo 不喜欢浪漫、爱看动作。Iron Canyon 一点不浪漫、全是动作，他的得分是正是负？",
            ),
            Said(
                f"Plus: minus times minus, and plus times plus. {float(score[1, 4]):.2f}.",
                f"正：负负得正，正正得正。{float(score[1, 4]):.2f}。",
            ),
        ),
        claims=(
            Claim(
                Said(
                    "Bo's score for Iron Canyon is positive, for Letters in June negative",
                    "Bo 对 Iron Canyon 得分为正，对 Letters in June 为负",
                ),
                bool(score[1, 4] > 0) and bool(score[1, 0] < 0),
            ),
        ),
        trace=trace,
        show="score[0,0]",
        codes=("B6",),
    )


def _from_likes() -> Iterator[Step]:
    found = learned()
    known = round((1 - HIDDEN) * 100)
    yield Step(
        Said("Features nobody wrote", "没人写过的特征"),
        Said(
            "Millions of films cannot be labelled by hand, and people cannot say what they "
            "like. So "
            f"turn it round: make the features parameters. {found.people} people, {len(FILMS)} "
            f"films, and of each pair only like or dislike, {known} % of them told. All features "
            "start near 0; training moves them until the sign of the dot product matches. Nothing "
            "about the films themselves is ever used.",
            "几百万部电影没法一部部标，人也说不清自己喜欢什么。那就反过来：把特征当作参数。"
            f"{found.people} 个人、{len(FILMS)} 部电影，每一对只知道喜欢或不喜欢，"
            f"只告诉模型其中 {known}%。"
            "所有特征从 0 附近开始；训练一直调，直到点积的符号对上。电影本身的内容一点都没用到。",
        ),
        pictures=(
            Picture(
                Said("Loss", "损失"),
                "curves",
                (Series(Said("loss", "损失"), list(range(1, UPDATES + 1)), found.losses),),
                Said("update", "步数"),
                Said("loss", "损失"),
            ),
        ),
        matrices=(
            Matrix(
                Said("likes guessed right", "猜对的比例"),
                [[found.seen, found.unseen]],
                columns=(Said("told", "告诉过的"), Said("kept back", "留着没说的")),
            ),
        ),
        question=Question(
            Said(
                "Of the likes kept back, how many will it guess right? By chance it would be half.",
                "留着没说的那些，它能猜对多少？瞎猜是一半。",
            ),
            Said(f"{found.unseen:.0%}.", f"{found.unseen:.0%}。"),
        ),
        claims=(
            Claim(
                Said("at least 95 % of what it was told", "告诉过的至少对 95%"), found.seen >= 0.95
            ),
            Claim(
                Said("and at least 85 % of what it was not", "没告诉的也至少对 85%"),
                found.unseen >= 0.85,
            ),
        ),
        codes=("B7",),
    )
    link, share = correlations(), explained()
    axis = [f"axis {number}" for number in range(1, WIDTH + 1)]
    said = [Said(name, name.replace("axis", "轴")) for name in axis]
    strongest = [int(link[row].abs().argmax()) for row in range(WIDTH)]
    told = "; ".join(
        f"{axis[row]}: {FEATURES[strongest[row]].en} ({signed(float(link[row, strongest[row]]))})"
        for row in range(WIDTH)
    )
    told_zh = "；".join(
        f"轴 {row + 1}：{FEATURES[strongest[row]].zh}（{signed(float(link[row, strongest[row]]))}）"
        for row in range(WIDTH)
    )
    x, y = (learned().films[:, column].tolist() for column in (0, 1))
    yield Step(
        Said("A map of the films", "电影的地图"),
        Said(
            "Draw each film at its first two learned features. Films that the same people like lie "
            "together. Nobody named the axes; but we still have the features by hand, so we can "
            f"measure: the strongest correlation of each axis is {told}. An axis may be a mixture: "
            "training finds the space, not our names for it. Together the three axes account for "
            f"{share[0]:.0%} of romance, {share[1]:.0%} of action, {share[2]:.0%} of comedy.",
            "把每部电影画在它的前两个学到的特征上。同一批人喜欢的电影会聚在一起。"
            "没有人给轴起名字；但手写的特征还在，可以量一量："
            f"每个轴相关最强的是 {told_zh}。一个轴可能是几样的混合：训练找到的是空间，"
            "不是我们的名字。"
            f"三个轴合起来，能解释浪漫的 {share[0]:.0%}、动作的 {share[1]:.0%}、喜剧的 "
            f"{share[2]:.0%}。",
        ),
        pictures=(
            Picture(
                Said("Films by their learned features", "按学到的特征摆放的电影"),
                "points",
                (Series(Said("films", "电影"), x, y, list(FILMS)),),
                said[0],
                said[1],
            ),
        ),
        matrices=(
            Matrix(
                Said("correlation, learned axis with hand feature", "相关：学到的轴与手写的特征"),
                link,
                said,
                FEATURES,
                digits=2,
            ),
            Matrix(
                Said("variance explained by the three axes", "三个轴解释的方差"),
                [share],
                columns=FEATURES,
                digits=2,
            ),
        ),
        claims=(
            Claim(
                Said(
                    "each hand feature is explained to at least 80 %",
                    "每个手写特征都能解释 80% 以上",
                ),
                min(share) >= 0.8,
            ),
        ),
        codes=("B8",),
    )


LESSON = Lesson(
    "recommender",
    Said("Films, people, dot products", "电影、人与点积"),
    Said(
        "Why a dot product says “these fit”; and features that learn themselves from likes alone.",
        "点积为什么能说“合不合”；以及只靠“喜欢”自己学出来的特征。",
    ),
    tell,
)
