"""A translator that travels: made anywhere, opened where it is first used.

translate = BatchTranslator("my-model", beam=5)
ray.data.read_text("in.txt").map_batches(translate)                    # Ray Data
frame.map_partitions(translate)                                        # Dask, pandas
rdd.mapPartitions(lambda lines: translate.texts(list(lines)))          # Spark
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutaway.decode.translator import Translator


class BatchTranslator:
    """Batches of texts → batches with translations; pickled as a path and options alone."""

    def __init__(
        self,
        folder: str | Path,
        *,
        engine: str = "auto",
        column: str = "text",  # which holds the texts
        into: str = "translation",  # which is added
        **options: Any,  # of Translator.translate
    ) -> None:
        self.folder = str(folder)
        self.engine = engine
        self.column = column
        self.into = into
        self.options = {"costs": False, **options}

    def __getstate__(self) -> dict[str, Any]:
        """Without the opened model: each process opens its own."""
        return {name: value for name, value in self.__dict__.items() if name != "translator"}

    @cached_property
    def translator(self) -> "Translator":
        """Opened when it is first used, once per process."""
        import cutaway

        return cutaway.load(self.folder, engine=self.engine)

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Translations in order."""
        found = self.translator.translate([str(text) for text in texts], **self.options)
        return [translation.text for translation in found]

    def __call__(self, batch: Any) -> Any:
        """A mapping of columns, or a data frame, with the translations added."""
        batch = batch.copy()
        batch[self.into] = self.texts(list(batch[self.column]))
        return batch
