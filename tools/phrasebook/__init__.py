"""A phrasebook: what people type first, in English, French and Chinese, as a training source.

phrases.tsv     whole phrases: greetings, thanks, questions, times, prices, weather, single words
templates.tsv   sentences with slots: "My name is {name}."
names.tsv       what fills the slots: first names of women and men,
places.tsv      cities and countries,
words.tsv       days, numbers, jobs, languages, things and the like
tables          how these files are read
filling         templates with their slots filled
book            the pairs of a language, and the file that a training reads
"""

from tools.phrasebook.book import held_out, pairs, plain, write

__all__ = ["held_out", "pairs", "plain", "write"]
