// The agent on @a2a-js/sdk 0.3: protocol 0.3 alone.

import { randomUUID } from "node:crypto";

import { Agent } from "./commands.mjs";
import { CARD, REST_PATH, RPC_PATH, SKILL, express, load, serve } from "./serving.mjs";

const { AGENT_CARD_PATH } = await load("@a2a-js/sdk");
const { A2AError, DefaultRequestHandler, InMemoryTaskStore } = await load("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = await load(
  "@a2a-js/sdk/server/express",
);

function part(value) {
  return typeof value === "string"
    ? { kind: "text", text: value }
    : { kind: "data", data: value };
}

/** What a turn can tell its caller, over the event bus of the SDK. */
class Replies {
  constructor(taskId, contextId, bus, context) {
    this.ids = { taskId, contextId };
    this.bus = bus;
    this.context = context;
  }

  openTask() {
    if (this.context.task) return;
    this.bus.publish({
      kind: "task",
      id: this.ids.taskId,
      contextId: this.ids.contextId,
      status: this.status("submitted"),
      history: [this.context.userMessage],
    });
  }

  working(text) {
    this.update("working", text);
  }

  cancelled() {
    this.update("canceled");
    this.bus.finished();
  }

  end({ state, text, artifact }) {
    if (state === "message") {
      const { taskId, ...message } = this.message(text);
      this.bus.publish(message);
      this.bus.finished();
      return;
    }
    if (artifact !== undefined) this.artifact(randomUUID(), part(artifact));
    this.update(state, text);
    this.bus.finished();
  }

  piece(text, { first, last }) {
    this.artifact("result", part(text), { append: !first, lastChunk: last });
  }

  artifact(artifactId, only, more = {}) {
    this.bus.publish({
      kind: "artifact-update",
      ...this.ids,
      artifact: { artifactId, name: "result", parts: [only] },
      ...more,
    });
  }

  update(state, text) {
    const status = this.status(state, text);
    this.bus.publish({ kind: "status-update", ...this.ids, status, final: state !== "working" });
  }

  status(state, text) {
    const message = text === undefined ? {} : { message: this.message(text) };
    return { state, ...message, timestamp: new Date().toISOString() };
  }

  message(text) {
    const messageId = randomUUID();
    return { kind: "message", ...this.ids, messageId, role: "agent", parts: [part(text)] };
  }
}

/** Hands the SDK's calls to the agent. */
class Executor {
  constructor(journal) {
    this.agent = new Agent(journal);
  }

  async execute(context, bus) {
    const { taskId, contextId, userMessage, task } = context;
    const words = userMessage.parts.map((piece) => piece.text);
    const turn = {
      messageId: userMessage.messageId,
      taskId,
      contextId,
      text: words.filter((word) => word !== undefined).join("\n"),
      followUp: task !== undefined,
    };
    await this.agent.perform(turn, new Replies(taskId, contextId, bus, context));
  }

  async cancelTask(taskId, bus) {
    const answer = this.agent.cancelAsked(taskId);
    if (answer === "refuse") throw A2AError.taskNotCancelable(taskId);
    // The SDK reads the bus only after this returns.
    if (answer === "nothing-runs") setImmediate(() => new Replies(taskId, "", bus).cancelled());
  }
}

function application({ rpcUrl, restUrl, journal }) {
  const card = {
    ...CARD,
    protocolVersion: "0.3.0",
    url: rpcUrl,
    preferredTransport: "JSONRPC",
    additionalInterfaces: [
      { url: rpcUrl, transport: "JSONRPC" },
      { url: restUrl, transport: "HTTP+JSON" },
    ],
    capabilities: { streaming: true, pushNotifications: false },
    skills: [SKILL],
  };
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    new Executor(journal),
  );
  const app = express();
  app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
  const userBuilder = UserBuilder.noAuthentication;
  app.use(RPC_PATH, jsonRpcHandler({ requestHandler, userBuilder }));
  app.use(REST_PATH, restHandler({ requestHandler, userBuilder }));
  return app;
}

serve(application);
