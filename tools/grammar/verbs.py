"""Verbs: their forms in the three languages and the nouns they go with."""

from __future__ import annotations

import re
from functools import cache

from tools.grammar.lexicon import forms, rows
from tools.grammar.tree import FrenchVerb, Verb

# English base, past, -ing; what is not given is regular (+ preposition before the object)
# | French infinitive and what goes with it (+ être where it takes it, + preposition)
# | Chinese frame: {o} object, {r} recipient, {p} a place the verb rules; (…) is said in the past,
#   and where it is missing the bare past would say something else
# | activity (has a progressive), event (has none) or state (French imparfait, Chinese without 了)
# | subjects | objects
VERBS = """
sleep, slept             | dormir           | 睡觉(了)     | activity | animal burrower person |
play                     | jouer            | 玩(了)       | activity | tame rabbit child boy girl |
walk                     | marcher          | 走           | activity | tame cow horse person creature |
run, ran, running        | courir           | 跑           | activity | pet horse deer fox mouse creature burrower citizen |
jump                     | sauter           | 跳           | activity | pet goat deer boy girl creature |
swim, swam, swimming     | nager            | 游泳(了)     | activity | citizen dog duck creature |
sing, sang               | chanter          | 唱歌(了)     | activity | person |
dance                    | danser           | 跳舞(了)     | activity | person |
cry                      | pleurer          | 哭(了)       | activity | youth man woman queen student |
laugh                    | rire             | 笑(了)       | activity | person |
work                     | travailler       | 工作(了)     | activity | healer scholar farmer artist man woman |
wait                     | attendre         | 等待         | activity | citizen dog |
fly, flew                | voler            | 飞           | activity | flyer |
dig a hole, dug a hole, digging a hole | creuser un trou  | 挖(了一个)洞 | activity | digger farmer |
fall, fell               | tomber + être    | 摔倒(了)     | event    | citizen horse goat |
come, came               | venir + être     | 来(了)       | event    | person |
leave, left              | partir + être    | 离开(了)     | event    | person |
stay                     | rester + être    | 待在{p}      | event    | pet farm burrower person |
live                     | vivre            | 住在{p}      | state    | animal burrower person |
learn to program         | apprendre à programmer | 学习(了)编程 | activity | student teacher youth he she |

eat, ate                 | manger           | 吃(了){o}    | activity | citizen pet horse goat mouse | food
see, saw                 | voir             | 看见(了){o}  | event    | person tame fox burrower | animal person vehicle building plant landmark shrew
hear, heard              | entendre         | 听见(了){o}  | event    | person tame fox burrower | pet bird duck farm fox citizen
love                     | aimer            | 爱{o}        | state    | person | person tame horse subject
like                     | aimer bien       | 喜欢{o}      | state    | person | animal citizen cloth furniture vehicle book lamp flower cake fruit boat home sight model subject
want                     | vouloir          | 想要{o}      | state    | citizen | book food cloth flower ball lamp furniture vehicle boat tame horse home model
have, had                | avoir            | 有{o}        | state    | citizen | book letter food cloth flower ball key basket lamp furniture vehicle boat pet horse cow goat home model
buy, bought              | acheter          | 买(了){o}    | activity | citizen | food flower wares home horse model
sell, sold               | vendre           | 卖(了){o}    | activity | farmer man woman artist | food flower wares home horse cow goat model
find, found              | trouver          | 找到(了){o}  | event    | person | text cloth ball key bottle box basket tame egg model shrew
look + for               | chercher         | 找(了){o}    | activity | person | text cloth ball key bottle box basket tame citizen
lose, lost               | perdre           | 弄丢(了){o}  | event    | person | text cloth ball key bottle basket model
draw, drew               | dessiner         | 画(了){o}    | activity | artist child he she student | animal flower boat building landmark plant shrew
read, read               | lire             | 读(了){o}    | activity | person | text
write, wrote             | écrire           | 写(了){o}    | activity | person | text
open                     | ouvrir           | 打开(了){o}  | activity | citizen | opening
close                    | fermer           | 关上(了){o}  | event    | citizen | opening
wash                     | laver            | 洗(了){o}    | activity | citizen | cloth vehicle dog fruit bottle
visit                    | visiter          | 参观(了){o}  | activity | person | sight
chase                    | poursuivre       | 追赶(了){o}  | activity | cat dog fox boy girl | animal
follow                   | suivre           | 跟着{o}      | activity | tame duck sheep citizen | citizen tame
help                     | aider            | 帮助(了){o}  | activity | person | person
know, knew               | connaître        | 认识{o}      | state    | person | person
meet, met                | rencontrer       | 遇见(了){o}  | event    | person | person
study                    | étudier          | 学习(了){o}  | activity | scholar youth | subject
drink, drank             | boire            | 喝(了){o}    | activity | citizen animal burrower | drink
roam                     | parcourir        | 在{o}里游荡  | state    | creature tame fox deer horse goat burrower | outdoors
go, went + to            | aller + être + à | 去(了){o}    | event    | person | goal
come back, came back     + from | revenir + être + de | 从{o}回来(了) | event | person | goal
give, gave + to          | donner           | 给(了){r}{o} | event    | person | text food flower cloth ball key lamp model
show + to                | montrer          | 给{r}看(了){o} | event  | person | text cloth flower vehicle model key ball
need                     | avoir besoin + de | 需要{o}     | state    | scholar | amount weight
use                      | utiliser         | 使用(了){o}  | activity | scholar | amount weight
weigh                    | peser            | 称(了){o}    | activity | scholar | amount weight
examine                  | examiner         | 检查(了){o}  | activity | healer | mark
remove                   | enlever          | 切除(了){o}  | activity | doctor | mark
take a biopsy, took a biopsy + of | faire une biopsie + de | 给{o}做(了)活检 | activity | doctor | mark
"""  # noqa: E501

# infinitive | je, il, nous, ils | participle | stem of the future, where it is not the infinitive
FRENCH = """
être       | suis, est, sommes, sont                      | été       | ser
avoir      | ai, a, avons, ont                            | eu        | aur
dormir     | dors, dort, dormons, dorment                 | dormi     |
courir     | cours, court, courons, courent               | couru     | courr
parcourir  | parcours, parcourt, parcourons, parcourent   | parcouru  | parcourr
nager      | nage, nage, nageons, nagent                  | nagé      |
manger     | mange, mange, mangeons, mangent              | mangé     |
rire       | ris, rit, rions, rient                       | ri        |
attendre   | attends, attend, attendons, attendent        | attendu   |
entendre   | entends, entend, entendons, entendent        | entendu   |
vendre     | vends, vend, vendons, vendent                | vendu     |
perdre     | perds, perd, perdons, perdent                | perdu     |
apprendre  | apprends, apprend, apprenons, apprennent     | appris    |
venir      | viens, vient, venons, viennent               | venu      | viendr
revenir    | reviens, revient, revenons, reviennent       | revenu    | reviendr
partir     | pars, part, partons, partent                 | parti     |
aller      | vais, va, allons, vont                       | allé      | ir
voir       | vois, voit, voyons, voient                   | vu        | verr
vouloir    | veux, veut, voulons, veulent                 | voulu     | voudr
acheter    | achète, achète, achetons, achètent           | acheté    | achèter
enlever    | enlève, enlève, enlevons, enlèvent           | enlevé    | enlèver
peser      | pèse, pèse, pesons, pèsent                   | pesé      | pèser
lire       | lis, lit, lisons, lisent                     | lu        |
écrire     | écris, écrit, écrivons, écrivent             | écrit     |
ouvrir     | ouvre, ouvre, ouvrons, ouvrent               | ouvert    |
suivre     | suis, suit, suivons, suivent                 | suivi     |
poursuivre | poursuis, poursuit, poursuivons, poursuivent | poursuivi |
connaître  | connais, connaît, connaissons, connaissent   | connu     |
vivre      | vis, vit, vivons, vivent                     | vécu      |
boire      | bois, boit, buvons, boivent                  | bu        |
faire      | fais, fait, faisons, font                    | fait      | fer
"""


@cache
def verbs() -> dict[str, Verb]:
    """Every verb by its English base form."""
    lexicon = {}
    for english, french, chinese, aspect, subjects, objects in rows(VERBS):
        words, _, preposition = english.partition(" + ")
        infinitive, *governed = french.split(" + ")
        state = aspect == "state"
        marked = "(" in chinese or state or "{p}" in chinese
        lexicon[forms(words)[0]] = Verb(
            forms(words)[0],
            english_forms(forms(words)),
            preposition,
            french_verb(infinitive, with_etre="être" in governed),
            "".join(part for part in governed if part != "être"),
            re.sub(r"\(.*?\)", "", chinese),
            chinese.replace("(", "").replace(")", "") if marked else "",
            state,
            aspect == "activity",
            frozenset(subjects.split()),
            frozenset(objects.split()),
        )
    return lexicon


def english_forms(given: list[str]) -> tuple[str, str, str, str]:
    """Base, third person, past, -ing; regular where not given: cry, cries, cried, crying."""
    base, _, rest = given[0].partition(" ")
    tail = " " + rest if rest else ""
    if base == "have":
        return "have", "has", "had", "having"
    consonant_y = base.endswith("y") and base[-2] not in "aeiou"
    stem = base[:-1] + "i" if consonant_y else base
    third = stem + ("es" if consonant_y or base.endswith(("sh", "ch", "s", "o")) else "s")
    past = stem + ("d" if base.endswith("e") else "ed") + tail
    drops_e = base.endswith("e") and not base.endswith("ee")
    progressive = (base[:-1] if drops_e else base) + "ing" + tail
    return (
        base + tail,
        third + tail,
        given[1] if len(given) > 1 else past,
        given[2] if len(given) > 2 else progressive,
    )


@cache
def irregular() -> dict[str, tuple[tuple[str, str, str, str], str, str]]:
    table = {}
    for infinitive, present, participle, future in rows(FRENCH):
        first, third, first_plural, third_plural = forms(present)
        table[infinitive] = ((first, third, first_plural, third_plural), participle, future)
    return table


@cache
def french_verb(phrase: str, with_etre: bool = False) -> FrenchVerb:
    """The forms French needs; an infinitive in -er that is not in the table is regular."""
    infinitive, _, tail = phrase.partition(" ")
    stem = infinitive.removesuffix("er")
    regular = ((stem + "e", stem + "e", stem + "ons", stem + "ent"), stem + "é", "")
    present, participle, future = irregular().get(infinitive, regular)
    future = future or infinitive.removesuffix("e")
    return FrenchVerb(infinitive, tail, present, participle, future, with_etre)
