// What the agents on Node.js do: the commands of commands.py, and the same journal as journal.py.

import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Seconds between two status updates of `slow`, at most. */
const STATUS_INTERVAL = 0.5;

/** Seconds that `chunks` works on each piece. */
const PIECE_INTERVAL = 0.2;

const TIMED = /^(slow|stubborn|deaf|chunks)\s+(\d{1,4}(?:\.\d{1,3})?)\s*$/;

/** How the commands end whose end does not depend on the message. */
const ENDINGS = {
  quick: { state: "completed", artifact: "quick done" },
  hello: { state: "message", text: "hello to you" },
  slow: { state: "completed", artifact: "slow done" },
  ask: { state: "input-required", text: "Which colour?" },
  fail: { state: "failed", text: "it failed" },
  reject: { state: "rejected", text: "not my job" },
  stubborn: { state: "completed", artifact: "stubborn done" },
  deaf: { state: "completed", artifact: "deaf done" },
  chunks: { state: "completed" },
  data: { state: "completed", artifact: { answer: 42, words: ["a", "b"] } },
};

/** The command of a first message and its number; `echo` where it is none or malformed. */
function commandOf(text) {
  const timed = TIMED.exec(text);
  if (timed) return [timed[1], Number(timed[2])];
  const word = text.trim().split(/\s/u)[0];
  const plain = ["quick", "hello", "ask", "fail", "reject", "raise", "data"];
  return [plain.includes(word) ? word : "echo", 0];
}

/** The side-effect journal: one JSON object a line, appended in one piece. */
export class Journal {
  constructor(path) {
    this.path = path;
  }

  write(event, turn, state) {
    const line = {
      event,
      message_id: turn.messageId,
      task_id: turn.taskId,
      context_id: turn.contextId,
      text: turn.text,
      time: Date.now() / 1000,
      ...(state === undefined ? {} : { state }),
    };
    fs.appendFileSync(this.path, JSON.stringify(line) + "\n");
  }
}

/**
 * Deals with turns, and keeps the journal of what it did.
 *
 * A turn is `{messageId, taskId, contextId, text, followUp}`. Its replies are an object with
 * `openTask()`, `working(text)`, `piece(text, {first, last})`, `end(ending)` and `cancelled()`; each SDK line has its own.
 */
export class Agent {
  constructor(journal) {
    this.journal = journal;
    this.running = new Map();
  }

  async perform(turn, replies) {
    const stop = new AbortController();
    this.journal.write("execute", turn);
    this.running.set(turn.taskId, { turn, stop });
    let ending;
    try {
      ending = await this.work(turn, replies, stop.signal);
    } catch (error) {
      this.running.delete(turn.taskId);
      this.journal.write(stop.signal.aborted ? "cancelled" : "raised", turn);
      if (!stop.signal.aborted) throw error;
      replies.cancelled();
      return;
    }
    this.running.delete(turn.taskId);
    // Before the last words: whoever sees the end of the task finds it in the journal.
    this.journal.write("done", turn, ending.state);
    replies.end(ending);
  }

  /** Record that a cancel came: "stop" (done here), "refuse", "ignore", or "nothing-runs". */
  cancelAsked(taskId) {
    const found = this.running.get(taskId);
    const nobody = { messageId: "", taskId, contextId: "", text: "" };
    this.journal.write("cancel-asked", found ? found.turn : nobody);
    if (!found) return "nothing-runs";
    const [command] = commandOf(found.turn.text);
    if (command === "stubborn") return "refuse";
    if (command === "deaf") return "ignore";
    found.stop.abort();
    return "stop";
  }

  async work(turn, replies, signal) {
    const [command, seconds] = turn.followUp ? ["answer", 0] : commandOf(turn.text);
    if (command !== "hello") replies.openTask();
    switch (command) {
      case "slow":
        await this.slow(seconds, replies, signal);
        break;
      case "chunks":
        await this.chunks(seconds, replies, signal);
        break;
      case "stubborn":
      case "deaf":
        await sleep(seconds * 1000);
        break;
      case "raise":
        throw new Error("a fault in the agent's code");
      case "answer":
        return { state: "completed", artifact: `answer: ${turn.text}` };
      case "echo":
        return { state: "completed", artifact: turn.text };
    }
    return ENDINGS[command];
  }

  async slow(seconds, replies, signal) {
    const steps = Math.max(1, Math.ceil(seconds / STATUS_INTERVAL));
    replies.working(`step 0 of ${steps}`);
    for (let step = 1; step <= steps; step++) {
      await sleep((seconds * 1000) / steps, undefined, { signal });
      replies.working(`step ${step} of ${steps}`);
    }
  }

  async chunks(count, replies, signal) {
    for (let number = 1; number <= count; number++) {
      replies.working(`at piece ${number} of ${count}`);
      await sleep(PIECE_INTERVAL * 1000, undefined, { signal });
      replies.piece(`piece ${number}. `, { first: number === 1, last: number === count });
    }
  }
}
