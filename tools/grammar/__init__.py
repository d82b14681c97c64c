"""A synchronous grammar: one tree, read aloud in English, French and Chinese.

lexicon, verbs    what there are words for, and which go together
tree              what a sentence says, before any language
english … chinese how each language says it
dice, phrases, places          chance, and noun phrases and places that make sense
actions, contexts, templates   which trees are drawn, and how many
split             which combinations training never sees
corpus            the corpus as text, as the package carries it
"""
