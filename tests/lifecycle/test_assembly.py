"""Artifacts put together from pieces and snapshots: nothing lost, nothing told twice."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

import hypothesis
import pytest
from hypothesis import strategies as st

from a2a_delegate.lifecycle.assembly import Assembly
from a2a_delegate.lifecycle.operations import ArtifactUpdate, TaskReply
from a2a_delegate.lifecycle.table import Phase
from a2a_delegate.model.artifact import Artifact
from a2a_delegate.model.part import DataPart, FilePart, Part, TextPart, text_of
from a2a_delegate.model.task import Task
from a2a_delegate.outcome import Completed
from a2a_delegate.signals import ArtifactChunk
from tests.lifecycle.replies import NEWER, TASK, piece, status, streaming, task, with_artifacts
from tests.lifecycle.story import GET, SUBSCRIBE, Story

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.spec("STREAM-9", "STATE-8")

STREAM = streaming(NEWER)
LIMIT = 1_000


def streams() -> Story:
    return Story(STREAM).sends().shows(status("working"))


def told(story: Story) -> list[tuple[str, bool]]:
    """Return what was told of artifacts: their text, and whether it goes on from before."""
    return [(chunk.artifact.text, chunk.append) for chunk in story.told(ArtifactChunk)]


def read(chunks: Sequence[ArtifactChunk]) -> dict[str, str]:
    """Put together what a reader sees who does as each chunk says."""
    seen: dict[str, str] = {}
    for chunk in chunks:
        name, text = chunk.artifact.artifact_id, chunk.artifact.text
        seen[name] = seen[name] + text if chunk.append else text
    return seen


def purged(story: Story) -> Story:
    """Show the end on the stream, and no task after it: what was put together counts."""
    return story.later(0.1).shows(status("completed")).ends("gone", name=GET)


def working(*texts: str) -> TaskReply:
    return with_artifacts("working", *texts)


# -- pieces --------------------------------------------------------------------------------------


def test_pieces_are_joined_by_their_artifact() -> None:
    """peers.md S21."""
    story = streams().shows(piece("Hello, ", append=False)).shows(piece("world!"))
    assert told(story) == [("Hello, ", False), ("world!", True)]
    purged(story)
    assert isinstance(story.result, Completed)
    assert story.result.output == "Hello, world!"


def test_pieces_of_several_artifacts_may_come_in_turns() -> None:
    story = streams()
    for name in ("b", "a", "b", "a"):
        story.shows(piece(f"{name}.", name=name))
    purged(story)
    assert [(made.artifact_id, made.text) for made in story.result.artifacts] == [
        ("b", "b.b."),
        ("a", "a.a."),
    ]


def test_more_of_an_artifact_that_nobody_has_seen_begins_it() -> None:
    """peers.md S20."""
    story = streams().shows(piece("tail"))
    assert told(story) == [("tail", False)]


def test_a_piece_that_begins_anew_replaces_what_was_there() -> None:
    story = streams().shows(piece("a draft")).shows(piece("the text", append=False))
    assert told(story) == [("a draft", False), ("the text", False)]


def test_the_same_piece_again_where_it_begins_anew_is_told_once() -> None:
    story = streams().shows(piece("Hello, ", append=False)).shows(piece("Hello, ", append=False))
    assert told(story) == [("Hello, ", False)]


def test_of_a_whole_that_grows_only_the_rest_is_told() -> None:
    story = streams()
    for text in ("Hel", "Hello", "Hello", "Hello world"):
        story.shows(piece(text, append=False))
    assert told(story) == [("Hel", False), ("lo", True), (" world", True)]


def test_two_hundred_pieces_are_two_hundred_pieces() -> None:
    """peers.md S15."""
    story = streams()
    for number in range(200):
        story.shows(piece(f"{number} "))
    assert len(told(story)) == 200
    assert read(story.told(ArtifactChunk))["made"] == "".join(f"{one} " for one in range(200))


def test_artifacts_without_ids_are_one_in_pieces() -> None:
    story = streams().shows(piece("Hel", name="")).shows(piece("lo", name=""))
    purged(story)
    assert [made.text for made in story.result.artifacts] == ["Hello"]


def test_a_piece_shows_that_the_work_has_begun() -> None:
    story = streams().shows(piece("x")).caller_cancels()
    assert story.ends("canceled").result.artifacts[0].text == "x"


# -- snapshots beside pieces ---------------------------------------------------------------------


def test_an_older_look_beside_a_stream_takes_nothing_back() -> None:
    story = streams()
    for text in ("Hel", "lo", " world"):
        story.shows(piece(text))
    story.time_comes().ends(working("Hello"), name=GET)
    story.shows(piece("!"))
    assert told(story) == [("Hel", False), ("lo", True), (" world", True), ("!", True)]
    purged(story)
    assert [made.text for made in story.result.artifacts] == ["Hello world!"]


def test_a_look_that_lacks_a_whole_artifact_takes_nothing_back_either() -> None:
    story = streams().shows(piece("one")).shows(piece("two", name="made 1"))
    story.time_comes().ends(working("one"), name=GET)
    assert len(told(story)) == 2
    purged(story)
    assert [made.text for made in story.result.artifacts] == ["one", "two"]


def test_a_look_that_goes_on_from_what_was_shown_is_told_as_the_rest() -> None:
    story = streams().shows(piece("Hello")).time_comes().ends(working("Hello world"), name=GET)
    assert told(story) == [("Hello", False), (" world", True)]


@pytest.mark.parametrize("rest", [(" wor", "ld"), (" world",), (" world", "!")], ids="+".join)
def test_what_a_look_has_shown_before_its_stream_is_not_told_twice(rest: tuple[str, ...]) -> None:
    story = streams().shows(piece("Hello")).time_comes().ends(working("Hello world"), name=GET)
    for text in rest:
        story.shows(piece(text))
    seen = read(story.told(ArtifactChunk))["made"]
    assert seen == "Hello" + "".join(rest)
    purged(story)
    assert story.result.artifacts[0].text == seen


def test_what_two_looks_have_shown_before_their_stream_is_not_told_twice() -> None:
    story = streams().shows(piece("a")).time_comes().ends(working("abc"), name=GET)
    story.time_comes().ends(working("abcde"), name=GET)
    for text in ("b", "cd", "e", "f"):
        story.shows(piece(text))
    assert read(story.told(ArtifactChunk)) == {"made": "abcdef"}


def beside(*parts: Part) -> Assembly:
    """Begin an artifact by a piece, and show by a look that it has these parts behind that."""
    assembly = Assembly(LIMIT)
    assembly.add(sized("a", append=False))
    made = Artifact("made", (TextPart("a"), *parts))
    list(assembly.show(Task(TASK, task("working").status, artifacts=(made,)), final=False))
    return assembly


def shown(*parts: Part) -> ArtifactUpdate:
    return ArtifactUpdate(TASK, Artifact("made", parts), append=True)


def test_what_a_look_has_shown_of_data_among_text_is_not_told_twice() -> None:
    look = (TextPart("bc"), TextPart("d"), DataPart(1), TextPart(""), TextPart("e"), DataPart(2))
    assembly = beside(*look)
    pieces = [(TextPart("b"),), (TextPart("cd"), TextPart(""), DataPart(1)), (), (TextPart(""),)]
    for parts in (*pieces, (TextPart("e"),), (DataPart(2),)):
        assert assembly.add(shown(*parts)) is None
    assert assembly.add(shown(DataPart(2))) is not None
    assert assembly.artifacts[0].parts == (TextPart("a"), *look, DataPart(2))


@pytest.mark.parametrize("other", [DataPart(1), DataPart(2), TextPart("bd")], ids=repr)
def test_a_piece_that_is_not_what_a_look_has_shown_is_news(other: Part) -> None:
    assembly = beside(TextPart("bc"), DataPart(1))
    assert assembly.add(shown(TextPart("b"))) is None
    assert assembly.add(shown(other)) is not None
    assert assembly.add(shown(TextPart("c"))) is not None, "the order is another one"


def test_what_a_look_has_shown_is_not_copied_for_each_piece() -> None:
    assembly, piece_of_it = beside(TextPart("b" * 1_000_000), DataPart(1)), shown(TextPart("b"))
    tracemalloc.start()
    for _ in range(100):
        assert assembly.add(piece_of_it) is None
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000


def test_what_a_stream_lost_is_taken_from_a_look() -> None:
    story = streams().shows(piece("Hello")).shows(piece("ld"))
    story.time_comes().ends(working("Hello world"), name=GET)
    assert told(story)[-1] == ("Hello world", False), "what was told did not go on so"
    story.shows(piece("!"))
    assert read(story.told(ArtifactChunk)) == {"made": "Hello world!"}


def test_what_a_stream_lost_and_a_look_has_shown_does_not_stop_the_next_piece() -> None:
    story = streams().shows(piece("one ")).time_comes().ends(working("one two "), name=GET)
    story.shows(piece("three ")).shows(piece("two "))
    assert read(story.told(ArtifactChunk)) == {"made": "one two three two "}


def test_a_stream_that_was_cut_goes_on_where_it_was() -> None:
    story = streams().shows(piece("Hel")).ends("cut").ends(working("Hello"), name=GET)
    story.shows(working("Hello wor"), name=SUBSCRIBE).shows(piece("ld"), name=SUBSCRIBE)
    assert told(story) == [("Hel", False), ("lo", True), (" wor", True), ("ld", True)]


def test_the_end_has_the_final_word() -> None:
    story = streams().shows(piece("Hello ")).shows(piece("Hello ")).shows(status("completed"))
    assert story.result_of(with_artifacts("completed", "Hello world")).output == "Hello world"
    assert [made.text for made in story.result.artifacts] == ["Hello world"]


def test_an_end_that_shows_fewer_artifacts_than_were_told_has_the_final_word() -> None:
    story = streams().shows(piece("one")).shows(piece("scratch", name="made 1"))
    story.shows(with_artifacts("completed", "one"))
    assert [made.text for made in story.result.artifacts] == ["one"]


@pytest.mark.spec("OUT-10")
def test_an_end_that_shows_none_takes_nothing_back() -> None:
    story = streams().shows(piece("one"))
    assert story.shows(status("completed")).phase is Phase.CONFIRMING
    assert story.result_of(with_artifacts("completed")).output == "one"


def test_other_words_about_an_artifact_are_told_without_its_parts() -> None:
    named = replace(piece("Hello", append=False).artifact, name="greeting")
    story = streams().shows(piece("Hello", append=False))
    story.shows(ArtifactUpdate(TASK, named, size=10))
    last = story.told(ArtifactChunk)[-1]
    assert (last.artifact, last.append) == (replace(named, parts=()), True)


def test_parts_that_are_no_text_are_compared_one_by_one() -> None:
    def shows(*parts: Part, append: bool = True) -> ArtifactUpdate:
        return ArtifactUpdate(TASK, Artifact("made", parts), append, size=10)

    first, second = DataPart({"row": 1}), FilePart(url="https://peer.example/f")
    story = streams().shows(shows(first)).shows(shows(second))
    whole = replace(task("working"), artifacts=(Artifact("made", (first, second, first)),))
    story.time_comes().ends(TaskReply(whole), name=GET).shows(shows(first))
    other = replace(task("working"), artifacts=(Artifact("made", (second, first)),))
    story.time_comes().ends(TaskReply(other), name=GET)
    chunks = [(chunk.artifact.parts, chunk.append) for chunk in story.told(ArtifactChunk)]
    assert chunks == [
        ((first,), False),
        ((second,), True),
        ((first,), True),
        ((second, first), False),
    ]


# -- bounded -------------------------------------------------------------------------------------


def sized(text: str, *, name: str = "made", append: bool = True) -> ArtifactUpdate:
    return piece(text, name=name, append=append, size=len(text))


def kept(assembly: Assembly) -> int:
    return sum(len(made.text) for made in assembly.artifacts)


@pytest.mark.spec("STREAM-9")
def test_an_empty_part_that_a_look_shows_first_is_nothing_to_wait_for() -> None:
    assembly = Assembly(LIMIT)
    assembly.add(ArtifactUpdate(TASK, Artifact("made", (DataPart(1),))))
    seen = Artifact("made", (DataPart(1), TextPart("")))
    look = Task(TASK, task("working").status, artifacts=(seen,))
    (chunk,) = assembly.show(look, final=False)
    assert (chunk.artifact.parts, chunk.append) == ((TextPart(""),), True)
    told = assembly.add(piece("text"))
    assert told is not None
    assert told.artifact.text == "text"


@pytest.mark.spec("STREAM-9")
def test_an_end_that_shows_what_the_stream_has_shown_tells_nothing() -> None:
    assembly = Assembly(LIMIT)
    assembly.add(piece("whole", append=False))
    whole = Artifact("made", (TextPart("whole"),))
    ended = Task(TASK, task("completed").status, artifacts=(whole,))
    assert list(assembly.show(ended, final=True)) == []
    assert assembly.artifacts == (whole,)


@pytest.mark.spec("STREAM-12")
def test_what_comes_beyond_the_bound_is_told_and_not_kept() -> None:
    assembly = Assembly(LIMIT)
    for _ in range(50):
        chunk = assembly.add(sized("x" * 100))
        assert chunk is not None
        assert len(chunk.artifact.text) == 100
    assert kept(assembly) == LIMIT
    whole = Artifact("made", (TextPart("x" * 5_000),))
    (told_whole,) = assembly.show(
        Task(TASK, task("completed").status, artifacts=(whole,)), final=True
    )
    assert (told_whole.artifact, told_whole.append) == (whole, False)
    assert assembly.artifacts == (whole,)


@pytest.mark.spec("STREAM-12")
@pytest.mark.parametrize("append", [True, False])
def test_many_artifacts_are_kept_within_the_bound_and_no_more(*, append: bool) -> None:
    assembly = Assembly(LIMIT)
    for number in range(500):
        chunk = assembly.add(sized("x" * 100, name=f"{number}", append=append))
        assert chunk is not None
        assert chunk.append is (append and number >= 10), "as the peer says of what is not known"
    assert len(assembly.artifacts) == 10
    assert kept(assembly) == LIMIT


@pytest.mark.spec("STREAM-12")
def test_what_is_replaced_gives_its_room_back() -> None:
    assembly = Assembly(LIMIT)
    for number in range(50):
        assembly.add(sized(f"{number:0900}", append=False))
    assert kept(assembly) == 900
    for _ in range(5):
        assembly.add(sized("a", append=False))
        assembly.add(sized("b" * 899))
        assert kept(assembly) == 900
    assembly.add(sized("y" * 5_000, append=False))
    assert assembly.artifacts == (), "half of it would be a lie"
    assembly.add(sized("z" * 900, append=False))
    assert kept(assembly) == 900


@pytest.mark.spec("STREAM-12")
@pytest.mark.parametrize("final", [True, False])
def test_pieces_that_are_replaced_as_a_whole_give_their_room_back(*, final: bool) -> None:
    assembly = Assembly(LIMIT)
    for _ in range(20):
        assembly.add(sized("x" * 100))
        assembly.add(sized("y" * 100))
        made = Artifact("made", (TextPart("z"),)) if final else Artifact("made", (DataPart(1),))
        shown = Task(TASK, task("working").status, artifacts=(made,))
        assert len(list(assembly.show(shown, final=final))) == 1
        assembly.add(sized("x" * 700))
        assert kept(assembly) >= 700
        assembly.add(sized("", append=False))
        assert kept(assembly) == 0


def test_an_end_that_names_two_artifacts_alike_keeps_both() -> None:
    both = (Artifact("made", (TextPart("one"),)), Artifact("made", (TextPart("two"),)))
    shown = TaskReply(replace(task("completed"), artifacts=both))
    assert streams().shows(shown).result.artifacts == both


@pytest.mark.spec("STREAM-12")
def test_snapshots_that_show_ever_other_artifacts_are_not_kept_one_and_all() -> None:
    assembly = Assembly(LIMIT)
    for number in range(50):
        made = Artifact(f"{number}", (TextPart("x" * 5_000),))
        shown = Task(TASK, task("working").status, artifacts=(made,))
        assert len(list(assembly.show(shown, final=False))) == 1
        assembly.add(sized("y", name=f"{number}"))
    assert len(assembly.artifacts) == 1


# -- whatever comes ------------------------------------------------------------------------------

WORDS = st.text("ab ", min_size=1, max_size=3)


@pytest.mark.spec("STREAM-9")
@hypothesis.given(
    begins=st.integers(0, 3),
    pieces=st.lists(WORDS, max_size=8),
    looks=st.lists(st.integers(0, 10), max_size=4),
    lost=st.sets(st.integers(0, 8), max_size=2),
)
def test_a_reader_ends_with_what_the_task_says(
    begins: int, pieces: list[str], looks: list[int], lost: set[int]
) -> None:
    """Pieces come in order, some are lost, and looks show any moment of the work."""
    assembly, chunks = Assembly(LIMIT), []
    moments = ["".join(pieces[:count]) for count in range(1, len(pieces) + 1)]
    for number, text in enumerate(pieces):
        if number not in lost:
            chunk = assembly.add(sized(text, append=number != begins))
            chunks += [] if chunk is None else [chunk]
        for look in looks[:1]:
            looks = looks[1:]
            said = moments[min(look, len(moments) - 1)]
            chunks += assembly.show(working(said).task, final=False)
        seen = {made.artifact_id: made.text for made in assembly.artifacts}
        assert read(chunks) == seen, "what was told is what is kept"
    chunks += assembly.show(with_artifacts("completed", "".join(pieces) or "x").task, final=True)
    assert read(chunks) == {"made": "".join(pieces) or "x"}


@pytest.mark.spec("STREAM-9")
@hypothesis.given(pieces=st.lists(WORDS, min_size=1, max_size=8), data=st.data())
def test_where_nothing_is_lost_nothing_is_told_twice(
    pieces: list[str], data: st.DataObject
) -> None:
    """A look shows what the stream has shown or will show; each text is told once, in order."""
    assembly, chunks = Assembly(LIMIT), []
    for number, text in enumerate(pieces):
        chunk = assembly.add(sized(text))
        chunks += [] if chunk is None else [chunk]
        if data.draw(st.booleans()):
            shown = data.draw(st.integers(1, len(pieces)))
            chunks += assembly.show(working("".join(pieces[:shown])).task, final=False)
        assert read(chunks)["made"].startswith("".join(pieces[: number + 1]))
    assert all(chunk.append for chunk in chunks[1:]), "nothing is taken back"
    assert text_of([part for chunk in chunks for part in chunk.artifact.parts]) == "".join(pieces)
