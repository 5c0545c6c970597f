"""`[tool.redzone]` in the nearest pyproject.toml: the defaults of the command line."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from redzone.report.codes import CODES
from redzone.report.formats import FORMATS as FORMATS


class BadConfig(Exception):
    """A setting that redzone cannot follow; the message says which and what would do."""


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """What a project says about how it wants to be checked."""

    strict: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    format: str = "text"
    exit_zero: bool = False
    exclude: tuple[str, ...] = ()
    baseline: str = ""
    """The file of known findings; in pyproject.toml its path is from that file's folder."""

    def reports(self, rule: str) -> bool:
        """Whether findings of this rule are wanted."""
        selected = not self.select or any(rule.startswith(code) for code in self.select)
        return selected and not any(rule.startswith(code) for code in self.ignore)


def nearest_config(start: Path) -> Config:
    """The settings of the first pyproject.toml with a [tool.redzone] table, from `start` upward."""
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            table = _table(file)
            if table is not None:
                config = config_from(table, str(file))
                baseline = str(folder / config.baseline) if config.baseline else ""
                return dataclasses.replace(config, baseline=baseline)
    return Config()


def config_from(table: dict[str, Any], source: str) -> Config:
    """Settings from a parsed table; `source` names it in error messages."""
    known = {field.name.replace("_", "-"): field for field in dataclasses.fields(Config)}
    settings: dict[str, Any] = {}
    for key, value in table.items():
        field = known.get(key)
        if field is None:
            raise BadConfig(f"{source}: unknown key {key!r} in [tool.redzone]; known are {', '.join(known)}")
        settings[field.name] = _checked(key, value, field.default, source)
    for key in ("select", "ignore"):
        check_codes(settings.get(key, ()), f"{source}: {key}")
    if settings.get("format", "text") not in FORMATS:
        raise BadConfig(f"{source}: format must be one of {', '.join(FORMATS)}")
    return Config(**settings)


def check_codes(codes: Iterable[str], source: str) -> None:
    """Raise BadConfig for a code that names no rule and is the beginning of none."""
    for code in codes:
        if not code or not any(known.startswith(code) for known in CODES):
            raise BadConfig(f"{source}: no rule is called {code!r}; `redzone rules` lists them")


def _checked(key: str, value: Any, default: Any, source: str) -> Any:
    match default:
        case bool():
            if not isinstance(value, bool):
                raise BadConfig(f"{source}: {key} must be true or false")
            return value
        case str():
            if not isinstance(value, str):
                raise BadConfig(f"{source}: {key} must be a string")
            return value
        case _:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise BadConfig(f"{source}: {key} must be a list of strings")
            return tuple(value)


def _table(file: Path) -> dict[str, Any] | None:
    try:
        parsed = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"{file}: {error}") from None
    table = parsed.get("tool", {}).get("redzone")
    if table is not None and not isinstance(table, dict):
        raise BadConfig(f"{file}: [tool.redzone] must be a table")
    return table
