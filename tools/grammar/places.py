"""Where things are and where things are done: every place that a sentence may name."""

from __future__ import annotations

from functools import cache

from tools.grammar.dice import Dice
from tools.grammar.lexicon import adjectives_of, grounds, nouns, rows
from tools.grammar.tree import Adjective, Noun, NounPhrase, Place, Preposition, Subject, Verb

# nouns or kinds of nouns | preposition and grounds | …; the first row that fits a noun is its row
WHEREABOUTS = """
cat dog      | on mat chair bed | under table chair bed tree | beside table chair bed | in kitchen house garden park | on street | behind house church school tree | in-front-of house church | near river lake station bridge
rabbit       | under table chair bed tree | beside chair | in garden park field forest kitchen house | behind house tree | near river lake
mouse        | under table chair bed tree | beside bed | in kitchen house garden field box church | behind house
duck         | on lake river | near lake river bridge | in garden park field | under tree | behind house
bird         | in garden park forest field | on table chair bridge hill | near lake river house church | under tree | behind house
farm         | in field garden | on hill | near river lake forest bridge | under tree | behind house church tree
forester     | in forest field park garden | on hill | near river lake bridge | under tree | behind house tree
burrower     | in garden park field forest | on hill | under tree | behind house tree | near river lake house
person       | in kitchen house garden park forest field castle church school museum hospital office | on street bridge hill | at station market | near river lake bridge church eiffel tower tree | behind house church school tree | in-front-of house church school museum hospital castle eiffel | under tree
food         | on table | in basket box kitchen
text         | on table chair bed mat | under table chair bed | in box basket kitchen office | beside bed
cloth        | on bed chair mat table | under bed chair | in box basket | beside bed mat
flower       | on table | in garden park field forest basket | near tree river lake house | under tree | behind house church
ball key     | on table chair bed mat | under table chair bed | in box basket kitchen garden | beside bed chair
bottle       | on table mat | under table bed | in kitchen box basket | beside bed chair
box basket   | on table chair bed mat | under table chair bed tree | in kitchen office house | beside table chair bed
lamp         | on table | beside bed table chair | in kitchen office
model        | on table chair | in box basket kitchen office | beside bed | under table
bed          | in house hospital
furniture    | in kitchen house office garden school | under tree
mat          | under table bed chair | beside bed | in kitchen house
vehicle      | on street bridge | at station market | in-front-of house school museum hospital church | behind house school hospital church castle | near bridge river lake park | under tree
boat         | on lake river | near bridge
house        | on hill | near river lake bridge forest church station park market | behind church school
castle       | on hill | in forest | near river lake bridge
church       | on hill | near river bridge market park school station | behind school | in-front-of museum
bridge       | near castle church station market forest museum
tower        | on hill | in park | near river lake bridge church forest | behind church castle | in-front-of castle museum
building     | near river lake park station bridge market church | behind church | in-front-of church
tree         | in garden park field | on hill | near river lake house church bridge | behind house church school castle | in-front-of house school museum hospital
"""  # noqa: E501

# verb | where people do it; animals do it where both this and the table above put them
DONE_AT = """
sleep    | in house garden park | on bed chair | under tree | at station
play     | in garden park house school field kitchen forest | on street hill mat bed | under table tree | behind house school church | in-front-of house school | near river lake
walk     | in park forest garden field | on street bridge hill | near river lake bridge
run      | in park garden field forest | on street bridge hill | near river lake | behind house
jump     | in garden park field forest | on bed chair | under tree | near river lake
swim     | in river lake
sing     | in kitchen garden park church school house | on street | under tree | in-front-of church house
dance    | in kitchen garden park castle house | on street | under tree | in-front-of church
cry      | in kitchen garden church school house | on street bed | at station | behind house | under tree
laugh    | in kitchen garden park school office house | on street | at market
wait     | in office school hospital church garden park | on street bridge | at station market | in-front-of school house museum hospital church eiffel | under tree | near bridge river lake
fly      | in garden park forest field | near lake river church house
dig      | in garden field forest park | under tree | behind house tree | near river lake
stay     | in house hospital kitchen garden school castle park | at station market | near river lake
live     | in house castle forest | near river lake park church station forest school bridge hospital museum | behind church school
learn    | in school office house kitchen
eat      | in kitchen garden park school office | under tree | at station market | near river lake
read     | in garden park kitchen school office house church | on bed | under tree | at station | near river lake
write    | in kitchen office garden school house | under tree
draw     | in garden park school kitchen forest museum | under tree | near river lake
study    | in school house office kitchen museum
"""  # noqa: E501
WORKPLACES = """
healer   | in hospital school office
teacher  | in school museum office
farmer   | in field garden | at market
artist   | in garden house museum school
scholar  | in school museum hospital office house
person   | in office hospital school museum kitchen garden | at market station
"""
AT_HOME = {"sleep", "stay", "live"}  # animals do these wherever they are
OWNERS = ("my", "his", "her", "our")
PLAIN = {"tired", "happy", "sad", "clean", "dirty", "expensive", "heavy", "clever", "brave"}

Ground = tuple[Preposition, Noun]


def places(cells: list[str]) -> tuple[Ground, ...]:
    """ "on mat bed" and the like as prepositions with their nouns."""
    found = []
    for cell in cells:
        name, *names = cell.split()
        found += [grounds(name.replace("-", " "), ground) for ground in names]
    return tuple(found)


@cache
def grounds_for(noun: Noun) -> tuple[Ground, ...]:
    """Every ground where a thing may be, with its preposition."""
    for kinds, *cells in rows(WHEREABOUTS):
        if noun.kinds & set(kinds.split()):
            return tuple(place for place in places(cells) if place[1] != noun)
    return ()


@cache
def grounds_of(verb: Verb, doer: Noun) -> tuple[Ground, ...]:
    """Every ground where this is done by this one."""
    key = verb.key.split()[0]
    if key == "work":
        return next(places(c) for kind, *c in rows(WORKPLACES) if kind in doer.kinds)
    done = next((places(cells) for name, *cells in rows(DONE_AT) if name == key), ())
    if "person" in doer.kinds or key == "swim":
        return done
    if key in AT_HOME:
        return grounds_for(doer)
    return tuple(place for place in grounds_for(doer) if place in done)


def place_for(dice: Dice, noun: Noun) -> Place | None:
    """Somewhere this may be, most often with "the" and no adjective."""
    return drawn_from(dice, grounds_for(noun))


def where(dice: Dice, verb: Verb, who: Subject) -> Place | None:
    """Somewhere to do it."""
    doer = who.noun if isinstance(who, NounPhrase) else nouns()["man"]
    if "person" in doer.kinds and verb.key in ("stay", "live", "work") and dice.percent(15):
        return city()
    return drawn_from(dice, grounds_of(verb, doer))


def drawn_from(dice: Dice, found: tuple[Ground, ...]) -> Place | None:
    if not found:
        return None
    preposition, ground = dice.choose(found)
    return Place(preposition, ground_phrase(dice, ground, preposition))


def ground_phrase(dice: Dice, ground: Noun, preposition: Preposition) -> NounPhrase:
    described = [one for one in adjectives_of(ground) if one.key not in PLAIN]
    chosen: tuple[Adjective, ...] = ()
    # À l'hôpital, but not au vieil hôpital: whoever is in an institution says no more about it.
    if described and preposition.french != "à" and dice.percent(15):
        chosen = (dice.choose(described),)
    determiner = "the"
    if ground.kinds & {"furniture", "home", "garden", "container"} and dice.percent(20):
        determiner = dice.choose((*OWNERS, "this"))
    return NounPhrase(ground, determiner, False, chosen)


@cache
def city() -> Place:
    preposition, paris = grounds("in", "paris")
    return Place(preposition, NounPhrase(paris, "bare"))
