"""Films and people: features by hand, the dot product, then features learned from likes alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cutaway import glass
from cutaway.glass import Trace
from cutaway.lessons.fit import fit
from cutaway.lessons.inputs import LessonInputs
from cutaway.lessons.lesson import Lesson, Step
from cutaway.lessons.recorded import numbers, table
from cutaway.lessons.section import Sections
from cutaway.lessons.texts import LocalizedText

TEXT = Sections("recommender")
FEATURES = ("romance", "action", "comedy")
FILMS: dict[str, tuple[float, float, float]] = {  # invented examples
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


def features() -> tuple[LocalizedText, ...]:
    """Names of the features by hand."""
    return TEXT.names("names", *FEATURES)


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
    likes = (tastes @ hand.T > 0).double()  # (P, M): the model's only input
    hidden = torch.rand(likes.shape, generator=random) < HIDDEN
    films = nn.Parameter(0.1 * torch.randn(len(hand), WIDTH, generator=random, dtype=torch.float64))
    people = nn.Parameter(0.1 * torch.randn(CROWD, WIDTH, generator=random, dtype=torch.float64))
    score = DotProduct()
    losses: list[float] = []

    def regularised() -> Tensor:
        guess = score(people, films)
        wrong = F.binary_cross_entropy_with_logits(guess[~hidden], likes[~hidden])
        losses.append(float(wrong.detach()))
        return wrong + 1e-3 * (films.square().mean() + people.square().mean())

    fit([films, people], regularised, updates=UPDATES, rate=RATE)
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
        features=list(FEATURES),
        axes={
            "people": ("persons", "features"),
            "films": ("titles", "features"),
            "score": ("persons", "titles"),
        },
    )
    return trace


def steps(inputs: LessonInputs) -> Iterator[Step]:
    """By hand, by dot product, by learning; then what the learned axes mean."""
    yield _by_hand(inputs)
    yield _learned()
    yield _map()


def _by_hand(inputs: LessonInputs) -> Step:
    taste = inputs.choice("romance", PEOPLE["Ana"][0])
    trace = scores(taste)
    score, people = numbers(trace, "score"), numbers(trace, "people")
    film, bo_film = "Letters in June", "Iron Canyon"
    terms = people[0] * table([FILMS[film]])[0]
    section = TEXT.section(
        "by-hand",
        film=film,
        bo_film=bo_film,
        terms=" + ".join(f"({term:+.2f})".replace("-", "−") for term in terms.tolist()),
        sum=terms.sum(),
        bo_score=score[1, 4],
    )
    section.matrix("films", list(FILMS.values()), list(FILMS), features(), digits=1)
    section.matrix("people", people, list(PEOPLE), features(), digits=1)
    section.matrix("score", score.T, list(FILMS), list(PEOPLE), digits=2)
    section.control("romance", "slider", taste, (-1.0, 1.0, 0.1))
    section.claim("bo", bool(score[1, 4] > 0) and bool(score[1, 0] < 0))
    return section.step("B6", trace=trace, show="score[0,0]")


def _learned() -> Step:
    found = learned()
    section = TEXT.section(
        "learned",
        people=found.people,
        films=len(FILMS),
        known=1 - HIDDEN,
        unseen=found.unseen,
    )
    curve = section.series("loss", list(range(1, UPDATES + 1)), found.losses)
    section.picture("loss", "curves", curve)
    section.matrix("right", [[found.seen, found.unseen]], columns=section.labels("seen", "unseen"))
    section.claim("seen", found.seen >= 0.95)
    section.claim("unseen", found.unseen >= 0.85)
    return section.step("B7")


def _map() -> Step:
    link, shares = correlations(), explained()
    strongest = link.abs().argmax(dim=1).tolist()
    x, y = (learned().films[:, column].tolist() for column in (0, 1))
    section = TEXT.section(
        "map",
        **{f"name{axis + 1}": features()[best] for axis, best in enumerate(strongest)},
        **{f"link{axis + 1}": link[axis, best] for axis, best in enumerate(strongest)},
        **dict(zip(FEATURES, shares, strict=True)),
    )
    axes = section.labels("axis1", "axis2", "axis3")
    section.picture("films", "points", section.series("films", x, y, list(FILMS)))
    section.matrix("correlation", link, axes, features(), digits=2)
    section.matrix("variance", [shares], columns=features(), digits=2)
    section.claim("explained", min(shares) >= 0.8)
    return section.step("B8")


LESSON = Lesson("recommender", steps)
