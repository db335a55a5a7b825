"""What `--help` says: the whole of it is here, so that it reads as one text."""

from __future__ import annotations

CARD_SECONDS = 30.0
SEND_SECONDS = 600.0
POLL_SECONDS = 1.0

# A paragraph that begins with this mark is not wrapped.
_AS_IS = "\b\n"

ABOUT = """\
Delegate a piece of work to an A2A agent, and learn what became of it.

An agent is named by the URL that it is known by, or by the URL of its card. Requests and headers
go to the origin of that URL only, and to those of --allow-origin. All times are in seconds.

The answer goes to standard output, everything else to standard error.
"""

_STATUSES = """\
Exit status:
  0  completed
  1  failed or rejected; also where the answer could not be written
  2  wrong usage
  3  no usable peer: no card, no version in common, an origin that is not allowed
  4  the agent asks for input or for credentials
  5  cancelled or timed out
  6  unknown: it may have run, so look before you repeat it; so may what failed with an error that
     proves nothing
"""

EXIT_STATUSES = f"{_AS_IS}{_STATUSES}"

URL = "The agent's address, with its scheme, or the URL of its card."

JSON = "Print one JSON object on standard output, also for errors."

HEADER = (
    "Send a header with every request; may be given again. Keep secrets off the command line: the "
    "value, or what follows its first word, may be env:VARIABLE or @FILE."
)

ALLOW_ORIGIN = (
    "Let requests and headers go to this origin too, such as https://rpc.example; may be given "
    "again."
)

CARD = """\
Show an agent's card, and which of its interfaces would be used.

Nothing is delegated. The status is 0 where the agent could be used, and 3 where not.
"""

CARD_TIMEOUT = "Stop looking after this time; 0 for no bound."

CARD_EXAMPLES = f"""\
{_AS_IS}Examples:
  a2a-delegate card https://research.example
  a2a-delegate card https://host.example/agents/one -H 'Authorization: Bearer env:TOKEN'
  a2a-delegate card https://research.example --json | jq .interfaces
"""

SEND = """\
Delegate a piece of work and wait for its outcome.

The answer's text goes to standard output as it came (on a terminal with control characters spelled
out), and nothing else does. What is not a plain success is explained on standard error, with its
evidence. An answer of data only is printed as JSON, one value a line.

Ctrl-C, or SIGTERM, cancels at the agent, waits a few seconds for what it says, and tells whether
it stopped; an answer that still comes is printed. The second one ends at once, with 130.
"""

PROMPT = "What to do; - reads it from standard input. Optional where --data or --file is given."

DATA = "Send a JSON value as a data part, or the JSON in @FILE; may be given again."

FILE = "Send a file by its bytes, 32 MiB in all; may be given again."

CONTEXT_ID = "Go on in this conversation of the agent's: a context_id of an earlier outcome."

EXPLAIN = "Tell the evidence for a plain success as well."

TIMEOUT = "The deadline of all of it, the search for the card too; 0 for none."

POLL_INTERVAL = "The time between the first two looks at a task; later ones come more slowly."

ALLOW_DOWNGRADE = "Speak an older version, once, if the agent refuses the one of its card."

SEND_EXAMPLES = f"""\
{_AS_IS}Examples:
  a2a-delegate send https://research.example 'Summarise the newest paper on X' > answer.txt
  git diff | a2a-delegate send https://reviewer.example -
  a2a-delegate send https://ocr.example 'Read this' --file scan.png --timeout 60
  a2a-delegate send https://shop.example --data '{{"order": 17}}' --json | jq .data
  a2a-delegate send https://host.example 'Hi' -H 'Authorization: Bearer @token.txt'

{_AS_IS}With --json the object has these members, each null or empty where there is nothing to say:
  status       completed, failed, rejected, cancelled, timed-out, input-required,
               auth-required or unknown
  effect       not-started (repeating is safe), may-have-run or ran
  output       the text of the answer
  data         the values of the answer's data parts
  artifacts    what the agent made, with its parts; bytes are base64 in raw
  task_id, context_id    the agent's names for it
  handle       what a later process needs to ask again
  receipt      what became of our cancel: not-needed, confirmed, requested, refused, unreached
  error        type, message and facts; the agent's question is in facts
  attempts     every request, as evidence

{_AS_IS}{_STATUSES}"""
