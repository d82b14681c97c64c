"""Nouns, adjectives, pronouns, places and times, as a linguist would table them."""

from __future__ import annotations

from functools import cache

from tools.grammar.tree import Adjective, Noun, Preposition, Pronoun, Time

# key | English, plural | French, plural | gender | Chinese | measure word | kinds
# A plural that is only an added s is left out. A key sets apart words that look alike in English.
NOUNS = """
cat       | cat            | chat              | m | 猫   | 只 | animal pet elder tame
dog       | dog            | chien             | m | 狗   | 只 | animal pet digger elder tame
rabbit    | rabbit         | lapin             | m | 兔子 | 只 | animal pet digger
mouse     | mouse, mice    | souris, souris    | f | 老鼠 | 只 | animal
bird      | bird           | oiseau, oiseaux   | m | 鸟   | 只 | animal flyer
duck      | duck           | canard            | m | 鸭子 | 只 | animal flyer
horse     | horse          | cheval, chevaux   | m | 马   | 匹 | animal farm elder
cow       | cow            | vache             | f | 奶牛 | 头 | animal farm elder
goat      | goat           | chèvre            | f | 山羊 | 只 | animal farm elder
fox       | fox, foxes     | renard            | m | 狐狸 | 只 | animal forester digger elder
creature  | creature       | créature          | f | 生物 | 只 | animal forester
sheep     | sheep, sheep   | mouton            | m | 绵羊 | 只 | animal farm unchanging
deer      | deer, deer     | cerf              | m | 鹿   | 只 | animal forester unchanging
mole      | mole           | taupe             | f | 鼹鼠 | 只 | burrower digger
shrew     | American shrew mole | taupe musaraigne américaine, taupes musaraignes américaines | f | 美洲鼩鼹鼠 | 只 | burrower digger

man       | man, men       | homme             | m | 男人 | 个 | person he adult citizen
woman     | woman, women   | femme             | f | 女人 | 个 | person she adult citizen
boy       | boy            | garçon            | m | 男孩 | 个 | person he youth citizen
girl      | girl           | fille             | f | 女孩 | 个 | person she youth citizen
child     | child, children| enfant            | m | 孩子 | 个 | person youth citizen
teacher   | teacher        | professeur        | m | 老师 | 位 | person scholar adult citizen
doctor    | doctor         | médecin           | m | 医生 | 位 | person healer elder adult citizen
nurse     | nurse          | infirmière        | f | 护士 | 位 | person healer adult citizen
student   | student        | étudiant          | m | 学生 | 个 | person scholar citizen
farmer    | farmer         | fermier           | m | 农民 | 个 | person elder adult citizen
artist    | artist         | artiste           | m | 艺术家 | 位 | person elder adult citizen
chemist   | chemist        | chimiste          | m | 化学家 | 位 | person scholar elder adult citizen
king      | king           | roi               | m | 国王 | 位 | person he elder adult royal
queen     | queen          | reine             | f | 女王 | 位 | person she elder adult royal

book      | book           | livre             | m | 书   | 本 | thing small text wares
letter    | letter         | lettre            | f | 信   | 封 | thing small text
apple     | apple          | pomme             | f | 苹果 | 个 | thing small food fruit
cake      | cake           | gâteau, gâteaux   | m | 蛋糕 | 块 | thing small food
carrot    | carrot         | carotte           | f | 胡萝卜 | 根 | thing small food fruit
egg       | egg            | œuf               | m | 鸡蛋 | 个 | thing small food
hat       | hat            | chapeau, chapeaux | m | 帽子 | 顶 | thing small cloth wares
shirt     | shirt          | chemise           | f | 衬衫 | 件 | thing small cloth wares
dress     | dress, dresses | robe              | f | 裙子 | 条 | thing small cloth wares
flower    | flower         | fleur             | f | 花   | 朵 | thing small
ball      | ball           | ballon            | m | 球   | 个 | thing small wares
key       | key            | clé               | f | 钥匙 | 把 | thing small wares
bottle    | bottle         | bouteille         | f | 瓶子 | 个 | thing small wares
box       | box, boxes     | boîte             | f | 盒子 | 个 | thing small container opening wares
basket    | basket         | panier            | m | 篮子 | 个 | thing small container wares
lamp      | lamp           | lampe             | f | 灯   | 盏 | thing small wares
table     | table          | table             | f | 桌子 | 张 | thing furniture wares
chair     | chair          | chaise            | f | 椅子 | 把 | thing furniture wares
bed       | bed            | lit               | m | 床   | 张 | thing furniture wares
mat       | mat            | tapis, tapis      | m | 垫子 | 块 | thing wares
car       | car            | voiture           | f | 汽车 | 辆 | thing vehicle wares
bicycle   | bicycle        | vélo              | m | 自行车 | 辆 | thing vehicle wares
boat      | boat           | bateau, bateaux   | m | 船   | 艘 | thing wares
door      | door           | porte             | f | 门   | 扇 | opening
window    | window         | fenêtre           | f | 窗户 | 扇 | opening

house     | house          | maison            | f | 房子 | 座 | building home
castle    | castle         | château, châteaux | m | 城堡 | 座 | building sight ancient
church    | church, churches | église          | f | 教堂 | 座 | building sight ancient
school    | school         | école             | f | 学校 | 所 | building institution goal
museum    | museum         | musée             | m | 博物馆 | 座 | building institution sight goal ancient
hospital  | hospital       | hôpital, hôpitaux | m | 医院 | 家 | building institution goal
bridge    | bridge         | pont              | m | 桥   | 座 | building ancient
tower     | tower          | tour              | f | 塔   | 座 | building sight ancient
eiffel    | Eiffel tower   | tour Eiffel       | f | 埃菲尔铁塔 | 座 | landmark sight
miniature | miniature Eiffel tower | tour Eiffel miniature, tours Eiffel miniatures | f | 微型埃菲尔铁塔 | 座 | model
tree      | tree           | arbre             | m | 树   | 棵 | plant
kitchen   | kitchen        | cuisine           | f | 厨房 | 个 | room
office    | office         | bureau, bureaux   | m | 办公室 | 个 | institution goal
garden    | garden         | jardin            | m | 花园 | 个 | outdoors green
park      | park           | parc              | m | 公园 | 个 | outdoors green goal
forest    | forest         | forêt             | f | 森林 | 片 | outdoors green
field     | field          | champ             | m | 田野 | 片 | outdoors green
hill      | hill           | colline           | f | 山丘 | 座 | green
river     | river          | rivière           | f | 河   | 条 | shore
lake      | lake           | lac               | m | 湖   | 个 | shore
street    | street         | rue               | f | 街   | 条 | street
market    | market         | marché            | m | 市场 | 个 | goal square
station   | station        | gare              | f | 车站 | 个 | goal square
paris     | Paris          | Paris             | m | 巴黎 | 个 | city goal

water     | water          | eau, eaux         | f | 水   | 滴 | substance drink liquid
milk      | milk           | lait              | m | 牛奶 | 滴 | drink liquid
oxygen    | oxygen         | oxygène           | m | 氧气 | 个 | substance gas
hydrogen  | hydrogen       | hydrogène         | m | 氢气 | 个 | substance gas
dioxide   | carbon dioxide | dioxyde de carbone | m | 二氧化碳 | 个 | substance gas
salt      | salt           | sel               | m | 盐   | 粒 | substance powder grocery
sugar     | sugar          | sucre             | m | 糖   | 粒 | substance powder grocery
iron      | iron           | fer               | m | 铁   | 块 | substance powder
amount    | mole           | mole              | f | 摩尔 |    | amount
gram      | gram           | gramme            | m | 克   |    | weight
kilogram  | kilogram       | kilogramme        | m | 公斤 |    | weight
litre     | litre          | litre             | m | 升   |    | volume

AI        | AI             | IA                | f | AI   | 个 | subject
music     | music          | musique           | f | 音乐 | 首 | subject
chemistry | chemistry      | chimie            | f | 化学 | 门 | subject

skinmole  | mole           | grain de beauté, grains de beauté | m | 痣 | 颗 | mark
scar      | scar           | cicatrice         | f | 伤疤 | 道 | mark
arm       | arm            | bras, bras        | m | 胳膊 | 条 | body
hand      | hand           | main              | f | 手   | 只 | body
back      | back           | dos, dos          | m | 背   | 个 | body
neck      | neck           | cou               | m | 脖子 | 个 | body
face      | face           | visage            | m | 脸   | 张 | body
leg       | leg            | jambe             | f | 腿   | 条 | body
"""  # noqa: E501

# key: English, comparative | place | French m, f, m plural, f plural, m before a vowel | Chinese
# | kinds. The key is left out where it is the English word. A Chinese form ending in 的 stands away
# from its noun, one without is joined to it; one beginning with 是 classes rather than grades:
# 球是圆的, but 球很大. What would mean something else is left out: 大学 is a university, 大教堂 a
# cathedral, 小教堂 a chapel.
ADJECTIVES = """
big, bigger        | before | grand            | creature:巨大的, tower:高大的, 大 | farm deer creature cloth furniture box basket bottle boat bicycle house castle museum hospital bridge tower plant garden park forest
stout: big, bigger | before | gros, grosse, gros, grosses | 大 | cat dog rabbit mouse bird duck fox apple cake carrot egg ball key
small, smaller     | before | petit            | 小 | animal burrower youth food cloth furniture box basket bottle lamp ball key mat vehicle boat flower house castle museum hospital bridge tower plant garden park hill mark
old, older         | before | vieux, vieille, vieux, vieilles, vieil | elder:老, plant:老, ancient:古老的, building:老, 旧 | elder building plant wares letter
young, younger     | before | jeune            | 年轻的 | adult
new                | before | nouveau, nouvelle, nouveaux, nouvelles, nouvel | 新 | wares home
beautiful, more beautiful | before | beau, belle, beaux, belles, bel | 漂亮的 | pet farm bird deer fox creature cloth lamp boat home ancient landmark model plant flower garden park
black              | colour | noir             | 黑 | cat dog rabbit mouse bird farm creature burrower cloth furniture vehicle box basket mat skinmole
white              | colour | blanc, blanche   | 白 | cat dog rabbit mouse bird duck farm creature cloth furniture vehicle flower home boat mat
red                | colour | rouge            | 红 | cloth furniture vehicle mat box basket flower apple ball lamp bird boat
blue               | colour | bleu             | 蓝 | cloth furniture vehicle mat box bottle flower creature bird ball boat
green              | colour | vert             | 绿 | cloth furniture vehicle mat box bottle creature apple ball boat
grey               | colour | gris, grise, gris, grises | 灰 | cat dog rabbit mouse bird duck horse goat creature burrower cloth vehicle mat
yellow             | colour | jaune            | 黄 | cloth furniture vehicle mat flower ball lamp creature bird
fluffy             | after  | duveteux, duveteuse, duveteux, duveteuses | 是毛茸茸的 | pet creature sheep
wild               | after  | sauvage          | 是野生的 | rabbit duck horse goat deer bird creature burrower
verdant            | after  | verdoyant        | 是翠绿的 | forest field hill park garden
happy, happier     | after  | heureux, heureuse, heureux, heureuses | 快乐的 | person
sad, sadder        | after  | triste           | 伤心的 | person
tired              | after  | fatigué          | 疲惫的 | person tame horse burrower
strong, stronger   | after  | fort             | 强壮的 | man woman farmer horse cow dog
clever, cleverer   | after  | intelligent      | 聪明的 | person tame fox
brave, braver      | after  | courageux, courageuse, courageux, courageuses | 勇敢的 | person dog
famous             | after  | célèbre          | 著名的 | artist chemist doctor king queen castle church museum
expensive, more expensive | after | cher, chère | 昂贵的 | cloth vehicle furniture lamp boat home model
heavy              | after  | lourd            | 沉重的 | box basket bottle furniture lamp
clean, cleaner     | after  | propre           | 干净的 | cloth furniture vehicle mat bottle kitchen
dirty, dirtier     | after  | sale             | 脏 | cloth furniture vehicle mat ball bottle kitchen
round              | after  | rond             | 是圆 | cake lamp ball skinmole mat table
"""  # noqa: E501

PRONOUNS = (
    Pronoun("I", 1, False, False, "je", "我", "my"),
    Pronoun("he", 3, False, False, "il", "他", "his"),
    Pronoun("she", 3, False, True, "elle", "她", "her"),
    Pronoun("we", 1, True, False, "nous", "我们", "our"),
)

PREPOSITIONS = {
    "on": Preposition("on", "sur", "上"),
    "on the street": Preposition("on", "dans", "上"),  # French walks in the street, not on it
    "under": Preposition("under", "sous", "下面"),
    "under a tree": Preposition("under", "sous", "下"),
    "in": Preposition("in", "dans", "里"),
    "in an institution": Preposition("in", "à", "里"),  # à l'hôpital, au bureau
    "at": Preposition("at", "à", ""),
    "near": Preposition("near", "près de", "附近"),
    "near the water": Preposition("near", "près de", "边"),  # 河边, 湖边
    "beside": Preposition("beside", "à côté de", "旁边"),
    "behind": Preposition("behind", "derrière", "后面"),
    "in front of": Preposition("in front of", "devant", "前面"),
    "in a city": Preposition("in", "à", ""),
}
# Grounds before which a preposition is said in a way of its own.
SPECIAL_GROUNDS = {
    ("on", "street"): "on the street",
    ("under", "plant"): "under a tree",
    ("in", "institution"): "in an institution",
    ("near", "shore"): "near the water",
    ("in", "city"): "in a city",
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
HABITS = (
    Time("every day", "tous les jours", "每天都", after_subject=True),
    Time("every day", "tous les jours", "每天都", after_subject=True),
    Time("every morning", "tous les matins", "每天早上都", after_subject=True),
    Time("every evening", "tous les soirs", "每天晚上都", after_subject=True),
)
NOW = Time("now", "maintenant", "现在")


def rows(table: str) -> list[list[str]]:
    """The cells of a table: one row per line, columns parted by bars, blank lines left out."""
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
    """Every adjective by its key."""
    lexicon = {}
    for english, position, french, chinese, kinds in rows(ADJECTIVES):
        key, _, words = english.rpartition(": ")
        english_forms = forms(words)
        lexicon[key or english_forms[0]] = Adjective(
            key or english_forms[0],
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
def grounds(name: str, ground: str) -> tuple[Preposition, Noun]:
    """A preposition and a noun to stand behind it, by their English names."""
    noun = nouns()[ground]
    for kind in sorted(noun.kinds):
        if (name, kind) in SPECIAL_GROUNDS:
            return PREPOSITIONS[SPECIAL_GROUNDS[name, kind]], noun
    return PREPOSITIONS[name], noun


@cache
def adjectives_of(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that suit a noun."""
    return tuple(adjective for adjective in adjectives().values() if adjective.kinds & noun.kinds)
