"""Files of outcomes: which there are, where they are written, and what is never written over."""

from __future__ import annotations

import errno
import os
import resource
import time
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_delegate import (
    Artifact,
    Completed,
    DataPart,
    DelegateResult,
    Effect,
    FilePart,
    InputRequired,
    Message,
    Role,
    TextPart,
    UnknownPart,
    UsageError,
)
from tests.model.test_file_names import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_delegate import Part

# What each class needs besides the fields in common.
OWN_FIELDS: dict[str, Any] = {
    "error": UsageError("no"),
    "cause": UsageError("no"),
    "question": Message("m", Role.AGENT, ()),
    "by": "caller",
    "last_state": "working",
    "receipt": "confirmed",
}


def completed(*parts: Part, name: str | None = None, artifact_id: str = "") -> Completed:
    """Complete with one artifact of these parts."""
    made = Artifact(artifact_id, parts, name=name)
    return Completed(delegate_id="d", effect=Effect.RAN, artifacts=(made,))


def named(*names: str) -> Completed:
    """Complete with a file of each name, whose content is its place."""
    return completed(*[FilePart(str(n).encode(), filename=name) for n, name in enumerate(names)])


def saved_names(result: DelegateResult, directory: Path) -> list[str]:
    """Save and return the names; each must be a plain file, and no other file be there."""
    paths = result.save(directory)
    assert all(path.parent == directory for path in paths)
    assert sorted(paths) == sorted(directory.iterdir())
    return [path.name for path in paths]


@pytest.mark.spec("FILE-3")
@pytest.mark.parametrize("kind", get_args(DelegateResult), ids=lambda kind: kind.__name__)
def test_every_outcome_has_its_files_and_saves_them(kind: Any, tmp_path: Path) -> None:
    fields = {name: OWN_FIELDS[name] for name in OWN_FIELDS if name in kind.__slots__}
    one, two, three = FilePart(b"1", filename="a"), FilePart(b"2", filename="b"), FilePart(b"3")
    result = kind(
        delegate_id="d",
        effect=Effect.RAN,
        artifacts=(Artifact("x", (TextPart("t"), one)), Artifact("y", (DataPart(1), two))),
        message=Message("m", Role.AGENT, (TextPart("words"), three)),
        **fields,
    )
    assert result.files == (one, two, three)
    paths = result.save(tmp_path)
    assert [(path.name, path.read_bytes()) for path in paths] == [
        ("a", b"1"),
        ("b", b"2"),
        ("message", b"3"),
    ]
    assert sorted(tmp_path.iterdir()) == sorted(paths)


@pytest.mark.spec("FILE-3")
def test_a_question_may_come_with_a_file(tmp_path: Path) -> None:
    question = Message("m", Role.AGENT, (TextPart("sign it"), FilePart(b"x", filename="c.pdf")))
    asked = InputRequired(delegate_id="d", effect=Effect.RAN, question=question, message=question)
    assert saved_names(asked, tmp_path) == ["c.pdf"]


@pytest.mark.spec("FILE-3")
def test_a_file_that_the_message_only_repeats_is_one_file(tmp_path: Path) -> None:
    part, other = FilePart(b"x", filename="a"), FilePart(b"y", filename="a")
    result = Completed(
        delegate_id="d",
        effect=Effect.RAN,
        artifacts=(Artifact("x", (part,)),),
        message=Message("m", Role.AGENT, (part, other)),
    )
    assert result.files == (part, other)
    assert saved_names(result, tmp_path) == ["a", "a-2"]


@pytest.mark.spec("FILE-3")
def test_what_is_no_file_is_not_saved(tmp_path: Path) -> None:
    result = completed(TextPart("t", filename="t.txt"), DataPart(1), UnknownPart({"file": {}}))
    assert result.files == ()
    assert saved_names(result, tmp_path) == []


@pytest.mark.spec("FILE-2")
def test_a_file_by_a_url_is_listed_and_left_out(tmp_path: Path) -> None:
    far = FilePart(url="http://127.0.0.1:1/x.png", filename="x.png")
    result = completed(far, FilePart(b"", filename="empty"))
    assert [one.url for one in result.files] == ["http://127.0.0.1:1/x.png", None]
    assert saved_names(result, tmp_path) == ["empty"]


@pytest.mark.spec("FILE-4")
@given(names=st.lists(HOSTILE, max_size=8))
def test_nothing_is_written_outside_the_directory(
    names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    above = tmp_path_factory.mktemp("above")
    directory = above / "in" / "here"
    paths = named(*names).save(directory)
    assert [path.read_bytes() for path in paths] == [str(n).encode() for n in range(len(names))]
    assert {path.parent for path in paths} <= {directory}
    folded = {path.name.casefold() for path in paths}
    assert len(folded) == len(names), "names that differ in case only are one on some systems"
    assert list(above.iterdir()) == [above / "in"]
    assert list((above / "in").iterdir()) == [directory]


@pytest.mark.spec("FILE-5")
def test_files_of_one_name_are_numbered_and_cases_make_no_other_name(tmp_path: Path) -> None:
    result = named("r.pdf", "r.pdf", "R.PDF", "r-2.pdf", "r.pdf", "r.pdf")
    assert saved_names(result, tmp_path) == [
        "r.pdf",
        "r-2.pdf",
        "R-3.PDF",
        "r-2-2.pdf",
        "r-4.pdf",
        "r-5.pdf",
    ]


@pytest.mark.spec("FILE-5")
def test_saving_again_writes_nothing_over(tmp_path: Path) -> None:
    result = named("a.txt", "b")
    first, second = result.save(tmp_path), result.save(str(tmp_path))
    assert [path.name for path in second] == ["a-2.txt", "b-2"]
    assert [path.read_bytes() for path in first + second] == [b"0", b"1"] * 2


@pytest.mark.spec("FILE-5")
def test_whatever_stands_at_the_place_stays_as_it_is(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"kept")
    directory = tmp_path / "in"
    (directory / "folder").mkdir(parents=True)
    (directory / "link").symlink_to(outside)
    (directory / "dangling").symlink_to(tmp_path / "nowhere")
    os.mkfifo(directory / "pipe")
    paths = named("folder", "link", "dangling", "pipe").save(directory)
    assert [path.name for path in paths] == ["folder-2", "link-2", "dangling-2", "pipe-2"]
    assert outside.read_bytes() == b"kept"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.spec("FILE-5")
@pytest.mark.parametrize(
    "names",
    [
        ["a"] * 4_000,
        [f"a-{n}" for n in range(2, 2_002)] + ["a"] * 2_000,
        # Cut to one length, and then numbered.
        [f"{'x' * 240}{n:06}" for n in range(2_000) for _ in "ab"],
    ],
    ids=["one name", "the numbers are taken", "long names"],
)
def test_very_many_files_of_one_name_take_no_long_time(names: list[str], tmp_path: Path) -> None:
    began = time.process_time()
    assert len(set(named(*names).save(tmp_path))) == len(names)
    # Counting from the beginning for each would try eight million names.
    assert time.process_time() - began < 8


@pytest.mark.spec("FILE-6")
@pytest.mark.parametrize(
    ("part", "name", "artifact_id", "saved"),
    [
        (FilePart(b"", filename="own"), "name", "id", "own"),
        (FilePart(b"", filename="own", media_type="image/png"), None, "", "own"),
        (FilePart(b"", filename=".."), "the plan", "id", "the plan"),
        (FilePart(b"", media_type="image/png"), "the plan", "id", "the plan.png"),
        (FilePart(b"", media_type="image/png"), "plan.png", "id", "plan.png"),
        (FilePart(b"", media_type="Text/Plain; charset=utf-8"), "v1.2", "", "v1.2.txt"),
        (FilePart(b"", media_type="application/pdf"), None, "id-7", "id-7.pdf"),
        (FilePart(b"", media_type="application/pdf"), "/", "../..", "artifact-1.pdf"),
        (FilePart(b""), None, "", "artifact-1"),
        (FilePart(b"", media_type="no/such"), None, "", "artifact-1"),
        (FilePart(b"", media_type="../../x"), None, "", "artifact-1"),
        (FilePart(b"", media_type="application/pdf"), "x" * 300, "", "x" * 242 + ".pdf"),
    ],
)
def test_a_file_without_a_name_is_called_after_its_artifact(
    part: FilePart, name: str | None, artifact_id: str, saved: str, tmp_path: Path
) -> None:
    assert saved_names(completed(part, name=name, artifact_id=artifact_id), tmp_path) == [saved]


@pytest.mark.spec("FILE-6")
def test_files_without_any_name_are_told_apart(tmp_path: Path) -> None:
    pages = FilePart(b"", media_type="image/png")
    result = Completed(
        delegate_id="d",
        effect=Effect.RAN,
        artifacts=(Artifact("", (pages, pages)), Artifact("", (pages,))),
        message=Message("m", Role.AGENT, (FilePart(b"", media_type="text/plain"),)),
    )
    assert saved_names(result, tmp_path) == [
        "artifact-1.png",
        "artifact-1-2.png",
        "artifact-2.png",
        "message.txt",
    ]


@pytest.mark.spec("FILE-7")
@pytest.mark.parametrize("result", [named(), named("a")], ids=["no file", "a file"])
def test_a_directory_that_is_missing_is_made(result: DelegateResult, tmp_path: Path) -> None:
    directory = tmp_path / "new" / "one"
    assert len(result.save(directory)) == len(result.files)
    assert directory.is_dir()


@pytest.mark.spec("FILE-7")
@pytest.mark.parametrize("wrong", [None, "", 7, b"bytes", "nul\0", "half\ud800\udfff", "/dev/null"])
def test_what_can_be_no_directory_is_wrong_usage(wrong: Any) -> None:
    with pytest.raises(UsageError, match="directory"):
        named("a").save(wrong)


@pytest.mark.spec("FILE-7")
def test_neither_can_a_file_nor_what_would_stand_below_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    for wrong in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="is no directory"):
            named("a").save(wrong)
    assert (tmp_path / "file").read_bytes() == b"kept"


@pytest.mark.spec("FILE-7")
def test_a_full_disk_is_its_own_error_and_leaves_no_half_of_it(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    large = completed(FilePart(b"1", filename="a"), FilePart(b"x" * 20_000, filename="b"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            large.save(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []
    assert len(large.save(tmp_path)) == 2


@pytest.mark.spec("FILE-7")
def test_a_name_that_the_disk_refuses_goes_through_too(tmp_path: Path) -> None:
    directory = tmp_path / ("x" * 300)
    with pytest.raises(OSError, match="too long"):
        named("a").save(directory)
