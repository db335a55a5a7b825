"""Whatever a peer speaks, over whatever binding, watched in whatever way: one outcome."""

from __future__ import annotations

import pytest

from tests.watching.playing import WAYS, Way, play
from tests.watching.scenarios import SCENARIOS, Scenario

pytestmark = [pytest.mark.anyio, pytest.mark.virtual_time]


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
