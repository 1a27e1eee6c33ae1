"""What docs/deployment.md shows is what the program reads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from kagemusha.deployment.answers import QUESTIONS, SECTION, checked

PAGE = Path(__file__).parents[2] / "docs" / "deployment.md"


def test_the_section_on_the_page_answers_every_question() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    answers = checked(tomllib.loads(shown)[SECTION], "the page")
    assert list(answers) == [question.field for question in QUESTIONS]
    assert sum(not question.optional for question in QUESTIONS) == 7
