"""What `--help` says: the whole of it is here, so that it reads as one text."""

from __future__ import annotations

# A paragraph that begins with this mark is not wrapped.
_AS_IS = "\b\n"

ABOUT = """\
Delegate a piece of work to an A2A agent, and learn what became of it.

An agent is named by the URL that it is known by, or by the URL of its card. Requests and headers
go to the origin of that URL only, and to those of --allow-origin. A delegation that is not over has
a handle, by which resume, cancel and send --continue find it. All times are in seconds.

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
  7  the task goes on (resume --no-wait)
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
it stopped; an answer that still comes is printed. The second one ends at once.
"""

PROMPT = "What to do; - reads it from standard input. Optional where --data or --file is given."

DATA = "Send a JSON value as a data part, or the JSON in @FILE; may be given again."

FILE = "Send a file by its bytes, 32 MiB in all; may be given again."

CONTINUE = (
    "Answer the question of this delegation, by its handle (as `resume` takes it). The answer goes "
    "where the question came from, no card is looked for, and URL says that you mean that agent."
)

CONTEXT_ID = "Go on in this conversation of the agent's: a context_id of an earlier outcome."

EXPLAIN = "Tell the evidence for a plain success as well."

SAVE = (
    "Write the files that come with their bytes into this directory, which is made where it is "
    "missing, under safe names and over nothing. Their paths are told. No URL is fetched."
)

SAVE_HANDLE = (
    "Keep the handle in this new file, from before anything is sent: even a killed command leaves "
    "what `resume @FILE` and `cancel @FILE` take."
)

TIMEOUT = "The deadline of all of it, the search for a card too; 0 for none."

WATCH = (
    "How the task is followed: stream has the work shown as it comes (a terminal shows its text "
    "grow), poll asks again and again, auto streams where the agent's card offers it."
)

POLL_INTERVAL = "The time between the first two looks at a task; later ones come more slowly."

AUTH_REQUIRED = (
    "Where the agent needs credentials: return, with the status 4, or wait until they have reached "
    "it by another way."
)

EXTENSION = (
    "Speak this extension of A2A: every request names it, and a card may require it; may be given "
    "again."
)

ALLOW_DOWNGRADE = "Speak an older version, once, if the agent refuses the one of its card."

_MEMBERS = """\
With --json the object has these members, each null or empty where there is nothing to say:
  status       completed, failed, rejected, cancelled, timed-out, input-required,
               auth-required, running or unknown
  effect       not-started (repeating is safe), may-have-run or ran
  output       the text of the answer
  data         the values of the answer's data parts
  artifacts    what the agent made, with its parts; bytes are base64 in raw
  files        the paths of the files that --save wrote
  task_id, context_id    the agent's names for it
  handle       what resume, cancel and send --continue take
  receipt      what became of our cancel: not-needed, confirmed, requested, refused, unreached
  error        type, message and facts; the agent's question is in facts
  attempts     every request, as evidence
"""

SEND_EXAMPLES = f"""\
{_AS_IS}Examples:
  a2a-delegate send https://research.example 'Summarise the newest paper on X' > answer.txt
  git diff | a2a-delegate send https://reviewer.example -
  a2a-delegate send https://ocr.example 'Read this' --file scan.png --timeout 60
  a2a-delegate send https://artist.example 'Draw a boat' --save pictures
  a2a-delegate send https://shop.example --data '{{"order": 17}}' --json | jq .data
  a2a-delegate send https://host.example 'Hi' -H 'Authorization: Bearer @token.txt'
  a2a-delegate send https://shop.example 'The blue one' --continue @asked.json
  a2a-delegate send https://research.example 'A long task' --save-handle task.json

{_AS_IS}{_MEMBERS}
{_AS_IS}{_STATUSES}"""

HANDLE = (
    "The handle, as JSON in quotes, as @FILE, or - for standard input. The whole object that "
    "--json printed for an outcome will do."
)

HANDLE_URL = (
    "The agent that you mean: the handle must lead to the origin of this URL, or to one of "
    "--allow-origin. Needed with --header, because a handle does not say where secrets may go. "
    "Where a reply was lost over 0.3 or 0.2, the agent's card is looked for here as well."
)

NO_WAIT = "Look once, and stop nothing; the status is 7 where the task goes on."

RESUME = """\
Take up a delegation by its handle, and wait for its outcome.

The task is asked for where it was begun, by the address and the version in the handle. Nothing is
sent anew, and no card is needed. Of an unknown delegation the task is looked up first. The outcome
is told as by send.

Whoever resumes owns the task: at --timeout, Ctrl-C or SIGTERM it is cancelled at the agent, and the
receipt is told. --no-wait cancels nothing.
"""

RESUME_EXAMPLES = f"""\
{_AS_IS}Examples:
  a2a-delegate resume @handle.json
  a2a-delegate resume @handle.json --no-wait --json | jq -r .status
  a2a-delegate send https://host.example 'Hi' --json | a2a-delegate resume -
  a2a-delegate resume @handle.json --url https://host.example -H 'Authorization: Bearer env:TOKEN'

{_AS_IS}{_MEMBERS}
{_AS_IS}{_STATUSES}"""

CANCEL = """\
Stop a delegation by its handle, and tell what came of that.

The receipt goes to standard output. The task is looked at first: one that has ended is left alone.
It takes a few seconds at most, also where the agent does not answer.
"""

CANCEL_EXAMPLES = f"""\
{_AS_IS}Examples:
  a2a-delegate cancel @handle.json
  a2a-delegate cancel @handle.json --json | jq '[.receipt, .status]'

{_AS_IS}Receipts, and the exit status of each:
  confirmed    0  the agent reports the task as canceled
  not-needed   0  it had ended before, as standard error or --json says
  refused      1  the agent says that it cannot stop it, or does not know it
  unreached    6  no answer, or no task is known to stop: it may go on
  requested    7  the agent took the request, and the task had not ended within the bound
Besides: 2 wrong usage, 3 no usable peer.

{_AS_IS}With --json the object is that of resume, with the receipt in it.
"""

PEER = """\
Serve an agent that misbehaves as a scenario says, and tell what really happened.

An orchestrator, in whatever language, is tested against it: it answers A2A at the URL that is
printed, does the work that the first word of a prompt names (`slow 3`, `stuck`, `ask`, `fail`; any
other is done at once), and is honest where the scenario is silent.

The URL goes to standard output, and each request with its effect to standard error. Ctrl-C, or
SIGTERM, closes the port; then the ground truth is told: what ran, how often, and what became of it.
"""

SCENARIO = "A TOML file that says what happens to which request; without one the agent is honest."
HOST = "Listen at this address; 0.0.0.0 or :: lets other machines reach it."
PORT = "Listen at this port; 0 takes any that is free."
PEER_VERSION = (
    "Speak this version of A2A (1.0, 0.3 or 0.2); may be given again. Else as the scenario says."
)
CERTFILE = "Speak TLS with this certificate (PEM), which may have its key in the same file."
KEYFILE = "The key of the certificate (PEM, without a password)."
PEER_LIST = "List every behaviour that a scenario can name, with its parameters, and end."
PEER_JSON = "Print the address as one JSON object, and the ground truth as one on standard error."

PEER_EXAMPLES = f"""\
{_AS_IS}Examples:
  a2a-delegate peer
  a2a-delegate peer flaky.toml --port 8900 --version 0.3
  a2a-delegate peer flaky.toml --json 2> log | jq -r .url
  a2a-delegate peer --list

{_AS_IS}A scenario, such as flaky.toml:
  [peer]                  # what it is; all of this is optional
  name = "Flaky"
  versions = ["1.0", "0.3"]
  bindings = ["JSONRPC", "HTTP+JSON"]
  streaming = true        # as ScriptedPeer: lists, tenant, always_blocks, recognises_repeats,
                          # keeps_context_ids, refuses_context_ids, subscribe_verbs, ...

{_AS_IS}  [[send]]                # the first send: cut within its reply, and reset
  call = 1                # or several: [1, 3]
  does = "CutReply"
  at = 120
  by = "rst"

{_AS_IS}  [[send]]                # any other send of exactly this text
  prompt = "be slow"
  does = "Delay"
  seconds = 5
  then = {{ does = "RpcError", code = -32603, accepts = true }}

{_AS_IS}  [[cancel]]              # all cancels
  does = "LyingCancel"

Tables are card, send, get, list, cancel and subscribe; a streamed send is a send, and needs
`streaming = true` above. What is said of a call goes before what is said of a prompt, and that
before what is said of all. A prompt means what is asked about its task too.

{_AS_IS}Exit status: 0 closed by a signal, 1 the address could not be written, 2 wrong usage.
"""
