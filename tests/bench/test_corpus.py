"""The corpus: every program is named once, can be asked for, and one from elsewhere is read the same way."""

from __future__ import annotations

import corpora
import corpus
import findings
import measure
import pytest
from isolated import Worker

from tests.fuzz import both_sides

OTHER = """
import jax, jax.numpy as jnp
def _program():
    return (lambda x, i: x[i]), (jax.ShapeDtypeStruct((4,), "float32"), jax.ShapeDtypeStruct((), "int32"))
PROGRAMS = {"mine/one": _program, "mine/kernel": _program}
TAGS = {"mine/kernel": {"pallas"}}
"""


@pytest.fixture
def other(tmp_path):
    path = tmp_path / "other.py"
    path.write_text(OTHER)
    return str(path)


def test_every_program_has_a_family_and_says_what_it_needs():
    programs = corpora.programs_of()
    assert len(programs) > 100
    for name, program in programs.items():
        assert program.name == name and program.family and "/" in name
    strange = corpus.Program("a/b", ("no_such_package_here",), lambda: None)
    assert strange.missing() == ("no_such_package_here",)


def test_no_two_programs_have_one_name():
    name = next(iter(corpora.programs_of()))
    with pytest.raises(ValueError, match="two programs are called"):
        corpus.program(name)(lambda: None)


def test_a_corpus_from_elsewhere_leaves_kernels_out(other):
    programs = corpora.programs_of(other)
    assert list(programs) == ["mine/one"]
    function, arguments = programs["mine/one"].make()
    assert measure.check(function, arguments, 1)["verdicts"]["requires"] == 1


def test_a_corpus_that_is_no_python_file_is_refused(tmp_path):
    with pytest.raises((SystemExit, FileNotFoundError)):
        corpora.programs_of(str(tmp_path / "nothing.txt"))


def test_a_worker_that_is_asked_for_nonsense_says_so_and_goes_on(other):
    worker = Worker(other)
    try:
        assert "KeyError" in worker.ask(120, ask="check", program="mine/none", repeats=1)["error"]
        assert worker.ask(120, ask="check", program="mine/one", repeats=1)["verdicts"]["requires"] == 1
        assert worker.ask(0.0, ask="check", program="mine/one", repeats=1) == {"error": "over 0 s"}
    finally:
        worker.stop()


def test_the_findings_count_each_verdict_once():
    verdicts = {"mine": findings.Counter({"safe": 3, "requires": 2, "unknown": 1})}
    text = findings.document(1, verdicts, findings.Counter({"safe by bounds": 3}), [], ["mine/none: ImportError"], 1)
    assert "1 programs trace, with 6 accesses; 16.7% are `unknown`" in text
    assert "Of 2 `requires`, 1 come with an input" in text
    assert "1 did not trace here: mine/none: ImportError" in text
    assert "| mine | 3 |" in text and "- none" in text


def test_conditions_are_tried_from_both_sides(other):
    function, arguments = corpora.programs_of(other)["mine/one"].make()
    counts = both_sides.examined(function, arguments)
    assert (counts["requires"], counts["witness"], counts["exact"]) == (1, 1, 1)
    assert (counts["sides"], counts["sides exact"], counts["kept: inside"]) == (2, 2, 1)
    text = both_sides.table({"mine": counts}, 0)
    assert "| mine | 1 | 1 | 1 | 2 | 2 |" in text and "Not shown exact: none." in text


def test_a_condition_that_is_only_sufficient_is_not_called_exact():
    """The array is read where the flag says so: an index outside does no harm without it."""
    import jax
    from jax import lax

    def read(x, i, unused):
        return lax.cond(unused > 3.0e38, lambda: x[i], lambda: 0.0)

    shapes = [jax.ShapeDtypeStruct(s, d) for s, d in (((4,), "float32"), ((), "int32"), ((), "float32"))]
    subject = both_sides.Subject(read, shapes)
    (access,) = subject.required
    subject.arguments[2] = type(subject.arguments[2])((), subject.arguments[2].dtype, 0.0, 1.0)
    access._witness = None
    (condition,) = access.requires
    assert subject.broken(access, condition, True) == "every run tried stays inside"
    assert subject.kept(access) == "inside"
