"""Nouns, adjectives, pronouns, places and times, as a linguist would table them."""

from __future__ import annotations

from functools import cache

from cutaway.corpus.grammar.tree import Adjective, Noun, Preposition, Pronoun, Time

# key | English, plural | French, plural | gender | Chinese | measure word | kinds
# A plural that is only an added s is left out. A key sets apart words that look alike in English.
NOUNS = """
cat       | cat            | chat              | m | 猫   | 只 | animal pet elder
dog       | dog            | chien             | m | 狗   | 只 | animal pet digger elder
rabbit    | rabbit         | lapin             | m | 兔子 | 只 | animal pet digger elder
mouse     | mouse, mice    | souris, souris    | f | 老鼠 | 只 | animal pet
bird      | bird           | oiseau, oiseaux   | m | 鸟   | 只 | animal flyer singer
duck      | duck           | canard            | m | 鸭子 | 只 | animal flyer swimmer
horse     | horse          | cheval, chevaux   | m | 马   | 匹 | animal elder
cow       | cow            | vache             | f | 奶牛 | 头 | animal elder
goat      | goat           | chèvre            | f | 山羊 | 只 | animal elder
fox       | fox, foxes     | renard            | m | 狐狸 | 只 | animal digger elder
creature  | creature       | créature          | f | 生物 | 只 | animal
sheep     | sheep, sheep   | mouton            | m | 绵羊 | 只 | animal unchanging
deer      | deer, deer     | cerf              | m | 鹿   | 只 | animal unchanging
mole      | mole           | taupe             | f | 鼹鼠 | 只 | burrower digger
shrew     | American shrew mole | taupe musaraigne américaine, taupes musaraignes américaines | f | 美洲鼩鼹鼠 | 只 | burrower digger

man       | man, men       | homme             | m | 男人 | 个 | person he adult
woman     | woman, women   | femme             | f | 女人 | 个 | person she adult
boy       | boy            | garçon            | m | 男孩 | 个 | person he youth
girl      | girl           | fille             | f | 女孩 | 个 | person she youth
child     | child, children| enfant            | m | 孩子 | 个 | person youth
teacher   | teacher        | professeur        | m | 老师 | 位 | person scientist adult
doctor    | doctor         | médecin           | m | 医生 | 位 | person healer elder adult
nurse     | nurse          | infirmière        | f | 护士 | 位 | person healer adult
student   | student        | étudiant          | m | 学生 | 个 | person scientist
farmer    | farmer         | fermier           | m | 农民 | 个 | person elder adult
artist    | artist         | artiste           | m | 艺术家 | 位 | person elder adult
chemist   | chemist        | chimiste          | m | 化学家 | 位 | person scientist elder adult
king      | king           | roi               | m | 国王 | 位 | person he elder adult
queen     | queen          | reine             | f | 女王 | 位 | person she elder adult

book      | book           | livre             | m | 书   | 本 | thing small text wares
letter    | letter         | lettre            | f | 信   | 封 | thing small text wares
apple     | apple          | pomme             | f | 苹果 | 个 | thing small food
cake      | cake           | gâteau, gâteaux   | m | 蛋糕 | 块 | thing small food
carrot    | carrot         | carotte           | f | 胡萝卜 | 根 | thing small food
egg       | egg            | œuf               | m | 鸡蛋 | 个 | thing small food
hat       | hat            | chapeau, chapeaux | m | 帽子 | 顶 | thing small cloth wares
shirt     | shirt          | chemise           | f | 衬衫 | 件 | thing small cloth wares
dress     | dress, dresses | robe              | f | 裙子 | 条 | thing small cloth wares
flower    | flower         | fleur             | f | 花   | 朵 | thing small
ball      | ball           | ballon            | m | 球   | 个 | thing small wares
key       | key            | clé               | f | 钥匙 | 把 | thing small wares
bottle    | bottle         | bouteille         | f | 瓶子 | 个 | thing small container wares
box       | box, boxes     | boîte             | f | 盒子 | 个 | thing small container opening wares
basket    | basket         | panier            | m | 篮子 | 个 | thing small container wares
lamp      | lamp           | lampe             | f | 灯   | 盏 | thing small wares
table     | table          | table             | f | 桌子 | 张 | thing furniture wares
chair     | chair          | chaise            | f | 椅子 | 把 | thing furniture wares
bed       | bed            | lit               | m | 床   | 张 | thing furniture wares
mat       | mat            | tapis, tapis      | m | 垫子 | 块 | thing surface wares
car       | car            | voiture           | f | 汽车 | 辆 | thing vehicle wares
bicycle   | bicycle        | vélo              | m | 自行车 | 辆 | thing vehicle wares
boat      | boat           | bateau, bateaux   | m | 船   | 艘 | thing wares
door      | door           | porte             | f | 门   | 扇 | opening
window    | window         | fenêtre           | f | 窗户 | 扇 | opening

house     | house          | maison            | f | 房子 | 座 | building room home
castle    | castle         | château, châteaux | m | 城堡 | 座 | building room sight
church    | church, churches | église          | f | 教堂 | 座 | building room sight
school    | school         | école             | f | 学校 | 所 | building room goal
museum    | museum         | musée             | m | 博物馆 | 座 | building room sight goal
hospital  | hospital       | hôpital, hôpitaux | m | 医院 | 家 | building room goal
bridge    | bridge         | pont              | m | 桥   | 座 | building deck
tower     | tower          | tour              | f | 塔   | 座 | building sight
eiffel    | Eiffel tower   | tour Eiffel       | f | 埃菲尔铁塔 | 座 | landmark sight
miniature | miniature Eiffel tower | tour Eiffel miniature, tours Eiffel miniatures | f | 微型埃菲尔铁塔 | 座 | model
tree      | tree           | arbre             | m | 树   | 棵 | plant
kitchen   | kitchen        | cuisine           | f | 厨房 | 个 | room indoors
office    | office         | bureau, bureaux   | m | 办公室 | 个 | room indoors goal
garden    | garden         | jardin            | m | 花园 | 个 | outdoors green
park      | park           | parc              | m | 公园 | 个 | outdoors green goal
forest    | forest         | forêt             | f | 森林 | 片 | outdoors green
field     | field          | champ             | m | 田野 | 片 | outdoors green
hill      | hill           | colline           | f | 山丘 | 座 | deck green
river     | river          | rivière           | f | 河   | 条 | shore
lake      | lake           | lac               | m | 湖   | 个 | shore
street    | street         | rue               | f | 街   | 条 | street
market    | market         | marché            | m | 市场 | 个 | goal
station   | station        | gare              | f | 车站 | 个 | goal
paris     | Paris          | Paris             | m | 巴黎 | 个 | city goal

water     | water          | eau, eaux         | f | 水   | 滴 | substance drink liquid
milk      | milk           | lait              | m | 牛奶 | 滴 | drink liquid
oxygen    | oxygen         | oxygène           | m | 氧气 | 个 | substance
hydrogen  | hydrogen       | hydrogène         | m | 氢气 | 个 | substance
dioxide   | carbon dioxide | dioxyde de carbone | m | 二氧化碳 | 个 | substance
salt      | salt           | sel               | m | 盐   | 粒 | substance powder
sugar     | sugar          | sucre             | m | 糖   | 粒 | substance powder
iron      | iron           | fer               | m | 铁   | 块 | substance powder
amount    | mole           | mole              | f | 摩尔 |    | amount
gram      | gram           | gramme            | m | 克   |    | weight
kilogram  | kilogram       | kilogramme        | m | 公斤 |    | weight
litre     | litre          | litre             | m | 升   |    | volume

AI        | AI             | IA                | f | AI   | 个 | subject
music     | music          | musique           | f | 音乐 | 首 | subject
chemistry | chemistry      | chimie            | f | 化学 | 门 | subject

understood | ,             | ,                 | m |      | 个 | understood
skinmole  | mole           | grain de beauté, grains de beauté | m | 痣 | 颗 | mark
scar      | scar           | cicatrice         | f | 伤疤 | 道 | mark
arm       | arm            | bras, bras        | m | 胳膊 | 条 | body
hand      | hand           | main              | f | 手   | 只 | body
back      | back           | dos, dos          | m | 背   | 个 | body
neck      | neck           | cou               | m | 脖子 | 个 | body
face      | face           | visage            | m | 脸   | 张 | body
leg       | leg            | jambe             | f | 腿   | 条 | body
"""  # noqa: E501

# English, comparative | place | French m, f, m plural, f plural, m before a vowel | Chinese | kinds
# A Chinese form ending in 的 stands away from its noun, one without is joined to it; one beginning
# with 是 classes rather than grades: 球是圆的, but 球很大.
ADJECTIVES = """
big, bigger        | before | grand            | 大 | animal thing building plant
small, smaller     | before | petit            | 小 | animal thing building plant burrower mark youth
old, older         | before | vieux, vieille, vieux, vieilles, vieil | elder:老, plant:老, building:古老的, 旧 | elder building plant wares
young, younger     | before | jeune            | 年轻的 | adult
new                | before | nouveau, nouvelle, nouveaux, nouvelles, nouvel | 新 | wares home
beautiful, more beautiful | before | beau, belle, beaux, belles, bel | 漂亮的 | animal cloth building landmark model plant flower she
black              | colour | noir             | 黑 | animal burrower cloth furniture vehicle surface container mark
white              | colour | blanc, blanche   | 白 | animal cloth furniture vehicle flower home
red                | colour | rouge            | 红 | cloth furniture vehicle surface container flower apple ball lamp bird
blue               | colour | bleu             | 蓝 | cloth furniture vehicle surface container flower creature bird
green              | colour | vert             | 绿 | cloth furniture vehicle surface container creature apple
grey               | colour | gris, grise, gris, grises | 灰 | animal burrower cloth vehicle
yellow             | colour | jaune            | 黄 | cloth furniture vehicle flower ball lamp creature bird
fluffy             | after  | duveteux, duveteuse, duveteux, duveteuses | 是毛茸茸的 | pet creature sheep duck
wild               | after  | sauvage          | 是野生的 | rabbit duck horse goat fox unchanging bird creature burrower
verdant            | after  | verdoyant        | 是翠绿的 | green
happy, happier     | after  | heureux, heureuse, heureux, heureuses | 快乐的 | person pet
sad, sadder        | after  | triste           | 伤心的 | person
tired              | after  | fatigué          | 疲惫的 | person animal burrower
strong, stronger   | after  | fort             | 强壮的 | adult horse cow goat dog
clever, cleverer   | after  | intelligent      | 聪明的 | person pet fox
brave, braver      | after  | courageux, courageuse, courageux, courageuses | 勇敢的 | person
famous             | after  | célèbre          | 著名的 | artist chemist king queen sight
expensive, more expensive | after | cher, chère | 昂贵的 | cloth vehicle furniture lamp cake boat home model
heavy, heavier     | after  | lourd            | 沉重的 | container furniture lamp
clean, cleaner     | after  | propre           | 干净的 | cloth furniture vehicle surface indoors container
dirty, dirtier     | after  | sale             | 脏 | cloth furniture vehicle surface ball container
round              | after  | rond             | 是圆 | cake lamp ball mark mat table
"""  # noqa: E501

PRONOUNS = (
    Pronoun("I", 1, False, False, "je", "我", "my"),
    Pronoun("he", 3, False, False, "il", "他", "his"),
    Pronoun("she", 3, False, True, "elle", "她", "her"),
    Pronoun("we", 1, True, False, "nous", "我们", "our"),
)

# Kind of ground and the prepositions that go with it.
PREPOSITIONS = {
    "on": Preposition("on", "sur", "上"),
    "on the street": Preposition("on", "dans", "上"),  # French walks in the street, not on it
    "under": Preposition("under", "sous", "下面"),
    "in": Preposition("in", "dans", "里"),
    "near": Preposition("near", "près de", "附近"),
    "beside": Preposition("beside", "à côté de", "旁边"),
    "behind": Preposition("behind", "derrière", "后面"),
    "in front of": Preposition("in front of", "devant", "前面"),
    "in a city": Preposition("in", "à", ""),
}
GROUNDS = {
    "surface": ("on", "beside"),
    "furniture": ("on", "under", "beside"),
    "container": ("in",),
    "indoors": ("in",),
    "room": ("in",),
    "outdoors": ("in",),
    "deck": ("on",),
    "street": ("on the street",),
    "building": ("near", "behind", "in front of"),
    "landmark": ("near", "in front of"),
    "plant": ("under", "behind", "near"),
    "shore": ("near",),
}

PAST_TIMES = (
    Time("yesterday", "hier", "昨天"),
    Time("last night", "hier soir", "昨晚"),
    Time("this morning", "ce matin", "今天早上"),
)
FUTURE_TIMES = (
    Time("tomorrow", "demain", "明天"),
    Time("tonight", "ce soir", "今晚"),
)
EVERY_DAY = Time("every day", "tous les jours", "每天都", after_subject=True)
NOW = Time("now", "maintenant", "现在")


def rows(table: str) -> list[list[str]]:
    """The cells of a table: one row a line, columns parted by bars, blank lines left out."""
    return [[cell.strip() for cell in line.split("|")] for line in table.split("\n") if line]


def forms(cell: str) -> list[str]:
    return [form.strip() for form in cell.split(",")]


@cache
def nouns() -> dict[str, Noun]:
    """Every noun by its key."""
    lexicon = {}
    for key, english, french, gender, chinese, measure, kinds in rows(NOUNS):
        english_forms, french_forms = forms(english), forms(french)
        lexicon[key] = Noun(
            key,
            english_forms[0],
            english_forms[1] if len(english_forms) > 1 else english + "s",
            french_forms[0],
            french_forms[1] if len(french_forms) > 1 else french + "s",
            gender == "f",
            chinese,
            measure,
            frozenset([key, *kinds.split()]),
        )
    return lexicon


@cache
def adjectives() -> dict[str, Adjective]:
    """Every adjective by its English word."""
    lexicon = {}
    for english, position, french, chinese, kinds in rows(ADJECTIVES):
        english_forms = forms(english)
        lexicon[english_forms[0]] = Adjective(
            english_forms[0],
            english_forms[0],
            english_forms[1] if len(english_forms) > 1 else "",
            position == "before",
            agreement(forms(french)),
            tuple(chinese_form(form) for form in forms(chinese)),
            position == "colour",
            frozenset(kinds.split()),
        )
    return lexicon


def agreement(given: list[str]) -> tuple[str, str, str, str, str]:
    """The five French forms; what is not given is regular: feminine -e, plural -s."""
    masculine = given[0]
    feminine = given[1] if len(given) > 1 else masculine.removesuffix("e") + "e"
    plural = given[2] if len(given) > 2 else masculine + "s"
    feminine_plural = given[3] if len(given) > 3 else feminine + "s"
    return masculine, feminine, plural, feminine_plural, given[4] if len(given) > 4 else masculine


def chinese_form(form: str) -> tuple[str, str]:
    kind, _, word = form.rpartition(":")
    return kind, word


@cache
def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """The nouns of any of these kinds, in the order of the table."""
    return tuple(noun for noun in nouns().values() if noun.kinds & set(kinds))


@cache
def adjectives_of(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that suit a noun."""
    return tuple(adjective for adjective in adjectives().values() if adjective.kinds & noun.kinds)
