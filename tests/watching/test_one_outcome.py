"""Whatever a peer speaks, over whatever binding, watched in whatever way: one outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.watching.page import NAME, page
from tests.watching.playing import WAYS, Way, play
from tests.watching.scenarios import SCENARIOS, Scenario

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.anyio
@pytest.mark.virtual_time
@pytest.mark.spec("WATCH-1")
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.name)
async def test_a_scenario_has_one_outcome(scenario: Scenario, way: Way) -> None:
    played = await play(scenario, way)
    status, effect, output = played.outcome
    assert (status, output) == (scenario.outcome, scenario.output)
    assert effect == ("not-started" if status == "rejected" else "ran")
    assert played.runs == (status != "rejected"), "by our doing it runs once"
    assert played.left_open == 0, "nothing is left open"
    if output is not None and played.text:
        assert played.text == output, "what was told of the artifacts is what there is"


@pytest.mark.spec("WATCH-1")
def test_the_table_of_all_of_them_is_current(pytestconfig: pytest.Config) -> None:
    written: Path = pytestconfig.rootpath / "docs" / NAME
    assert written.read_text(encoding="utf-8") == page(), "run scripts/specs"
