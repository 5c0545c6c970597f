"""The modes, and the environment's word on them."""

from __future__ import annotations

import pytest

from redzone.runtime.mode import BadMode, Mode, asked


@pytest.mark.parametrize("word", ["report", "raise", "off"])
def test_the_environment_wins(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDZONE", word)
    for default in Mode:
        assert asked(default) is Mode(word)


@pytest.mark.parametrize("word", ["", "  "])
def test_an_empty_word_is_no_word(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDZONE", word)
    assert asked("raise") is Mode.RAISE


def test_without_a_word_the_default_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDZONE", raising=False)
    assert asked("off") is Mode.OFF
    assert asked(Mode.REPORT) is Mode.REPORT


def test_case_and_spaces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDZONE", " Raise ")
    assert asked("off") is Mode.RAISE


def test_a_wrong_word_says_which_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDZONE", "rais")
    with pytest.raises(BadMode, match=r"environment variable REDZONE: 'rais' is no mode.* use report, raise or off"):
        asked("off")
    monkeypatch.delenv("REDZONE")
    with pytest.raises(ValueError, match=r"mode: 'on' is no mode of redzone; use report, raise or off"):
        asked("on")
    with pytest.raises(ValueError, match=r"mode: 3 is no mode"):
        asked(3)  # type: ignore[arg-type]
