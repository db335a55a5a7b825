"""A scripted peer in words: what happens to it, what is true in the end, what it can be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from a2a_delegate.cli.terminal import on_one_line
from a2a_delegate.testing.acts import Honest
from a2a_delegate.testing.behaviours import Operation
from a2a_delegate.testing.catalogue import descriptions, spelled
from a2a_delegate.testing.happenings import ConnectionRefused, RequestArrived, RequestOver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_delegate.model.json_value import JSON
    from a2a_delegate.testing.catalogue import Description
    from a2a_delegate.testing.happenings import Happening
    from a2a_delegate.testing.peer import ScriptedPeer
    from a2a_delegate.testing.truth import RequestFact, StreamFact, TaskFact

_LINE: Final = 200
_PROMPT: Final = 40


def line_of(happening: Happening) -> str | None:
    """Tell what happened in one line; None for a request that has come and is not over.

    One that is told to do something beside the truth has a line of its own as it arrives.
    """
    match happening:
        case ConnectionRefused(reason=reason):
            return on_one_line(f"a connection without a request: {reason}", _LINE)
        case RequestArrived(number=number, request=request, behaviour=behaviour):
            if behaviour == Honest():
                return None
            return on_one_line(f"#{number} {_asked(request)}: {spelled(behaviour)}", _LINE)
        case RequestOver():
            return on_one_line(f"#{happening.number} {_became(happening)}", _LINE)
        case _:
            assert_never(happening)


def _became(over: RequestOver) -> str:
    """Tell the effect of a request: on the agent, on its client, and on the connection."""
    effects = ["work begun"] if over.ran else []
    if over.request.stream is not None:
        effects.append(f"{over.request.stream.events} events")
    if over.behaviour is None:
        effects.append("not read")
    effects.append(f"{over.sent} bytes" if over.sent else "no byte sent")
    if over.status is not None and over.sent:
        effects[-1] += f" of HTTP {over.status}"
    return f"{_asked(over.request)}: {', '.join([*effects, over.parting])}"


def _asked(request: RequestFact) -> str:
    if request.operation is None:
        return f"{request.method} {request.url}"
    version = f" {request.version}" if request.version is not None else ""
    prompt = _prompt_in(request.body)
    return f"{request.operation}{version}{f' {prompt!r}' if prompt else ''}"


def _prompt_in(body: object) -> str:
    """Return the beginning of the text of a message, in whichever version it is."""
    match body:
        case {"params": {"message": {"parts": [{"text": str(text)}, *_]}}}:
            return on_one_line(text, _PROMPT)
        case _:
            return ""


def truth_object(peer: ScriptedPeer) -> dict[str, JSON]:
    """Return the ground truth as one object: what ran, how it stands, what was not used."""
    truth = peer.truth
    return {
        "requests": len(truth.requests),
        "sends": truth.sends,
        "cancels": truth.cancels,
        "subscriptions": truth.subscriptions,
        "streams": [_stream(one.stream) for one in truth.requests if one.stream is not None],
        "open": truth.open,
        "runs": dict(truth.runs),
        "tasks": [_task(one) for one in truth.tasks],
        "unused": [f"{operation}: {spelled(behaviour)}" for operation, behaviour in peer.pending],
    }


def _stream(stream: StreamFact) -> dict[str, JSON]:
    return {"events": stream.events, "end": str(stream.end)}


def _task(task: TaskFact) -> dict[str, JSON]:
    return {
        "id": task.id,
        "context_id": task.context_id,
        "message_id": task.message_id,
        "text": task.text,
        "state": str(task.state),
        "cancel_requests": task.cancel_requests,
    }


def truth_text(peer: ScriptedPeer) -> str:
    """Tell the ground truth to a person."""
    truth = peer.truth
    runs = sum(truth.runs.values())
    came = f"{len(truth.requests)} requests, {truth.sends} sends and {truth.cancels} cancels"
    lines = [f"{came}; work was begun {runs} times"]
    lines += [f"message {one} ran {times} times" for one, times in truth.runs.items() if times > 1]
    for task in truth.tasks:
        cancels = f", {task.cancel_requests} cancels" if task.cancel_requests else ""
        what = on_one_line(task.text, _PROMPT)
        told = f"task {task.id} {what!r}: {task.state}{cancels}; message {task.message_id}"
        lines.append(on_one_line(told, _LINE))
    lines += [f"never used: {one}: {spelled(behaviour)}" for one, behaviour in peer.pending]
    return "\n".join(["the ground truth:", *(f"  {line}" for line in lines)])


def behaviours_object() -> dict[str, JSON]:
    """Return every behaviour that a scenario can name, with its parameters, as one object."""
    return {
        "behaviours": [
            {
                "name": one.name,
                "about": one.about,
                "operations": [str(operation) for operation in one.operations],
                "parameters": [
                    {
                        "name": parameter.name,
                        "is": parameter.kind.words,
                        "needed": parameter.default is None,
                        "default": parameter.default,
                    }
                    for parameter in one.parameters
                ],
            }
            for one in descriptions()
        ]
    }


def behaviours_text() -> str:
    """Tell a person of every behaviour that a scenario can name."""
    return "\n".join("\n".join(_described(one)) for one in descriptions())


def _described(one: Description) -> Iterator[str]:
    everywhere = len(one.operations) == len(Operation)
    yield one.name if everywhere else f"{one.name} (for {', '.join(one.operations)})"
    yield f"    {one.about}"
    for parameter in one.parameters:
        default = "needed" if parameter.default is None else f"else {parameter.default}"
        yield f"    {parameter.name} = {parameter.kind.words}; {default}"
