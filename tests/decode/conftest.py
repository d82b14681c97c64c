"""One quickly trained model for all tests of this folder."""

from pathlib import Path

import pytest

from cutaway.artifact.folder import read_model_folder, write_model_folder
from cutaway.decode import Translator
from tests.decode.helpers import trained_folder


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder on disk."""
    path = tmp_path_factory.mktemp("decode") / "model"
    write_model_folder(path, trained_folder())
    return path


@pytest.fixture(scope="session")
def translator(model_path: Path) -> Translator:
    """The translator of that folder."""
    return Translator(read_model_folder(model_path))
