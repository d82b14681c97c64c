"""A selection of the page's tests in Firefox; CUTAWAY_BROWSER=firefox runs all of them in it.

Whatever is imported here is run here, with the browser of this file.
"""

from typing import Any

import pytest

from tests.browser.test_lessons import (
    test_figures_stand_there_before_the_answer_and_cannot_be_read,
)
from tests.browser.test_live import test_a_file_follows_a_changed_number_without_a_server
from tests.browser.test_play import test_a_weight_is_played_from_its_products_to_its_share
from tests.browser.test_translating import (
    test_the_page_lands_on_a_finished_translation_with_a_cell_open,
)
from tests.browser.test_views import (
    test_from_the_map_to_a_cell_and_on_to_the_end,
    test_the_keyboard_alone,
)
from tests.browser.test_zoom import test_what_stands_on_the_canvas_is_what_python_has

pytestmark = pytest.mark.browser
__all__ = [
    "test_a_file_follows_a_changed_number_without_a_server",
    "test_a_weight_is_played_from_its_products_to_its_share",
    "test_figures_stand_there_before_the_answer_and_cannot_be_read",
    "test_from_the_map_to_a_cell_and_on_to_the_end",
    "test_the_keyboard_alone",
    "test_the_page_lands_on_a_finished_translation_with_a_cell_open",
    "test_what_stands_on_the_canvas_is_what_python_has",
]


@pytest.fixture(scope="module")
def browser(firefox: Any) -> Any:
    """The browser of this file."""
    return firefox
