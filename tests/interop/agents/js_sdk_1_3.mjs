// The agent on @a2a-js/sdk 1.3: protocol 1.0 alone, or 0.3 beside it on the same URLs.

import { randomUUID } from "node:crypto";

import { Agent } from "./commands.mjs";
import { CARD, REST_PATH, RPC_PATH, SKILL, express, load, serve } from "./serving.mjs";

const { AGENT_CARD_PATH, Role, TaskState } = await load("@a2a-js/sdk");
const { TaskNotCancelableError } = await load("@a2a-js/sdk/errors");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await load("@a2a-js/sdk/server");
const { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } = await load(
  "@a2a-js/sdk/server/express",
);

const STATES = {
  completed: TaskState.TASK_STATE_COMPLETED,
  "input-required": TaskState.TASK_STATE_INPUT_REQUIRED,
  failed: TaskState.TASK_STATE_FAILED,
  rejected: TaskState.TASK_STATE_REJECTED,
};

function part(value) {
  const content =
    typeof value === "string" ? { $case: "text", value } : { $case: "data", value };
  return { content, mediaType: "", filename: "", metadata: {} };
}

/** What a turn can tell its caller, over the event bus of the SDK. */
class Replies {
  constructor(taskId, contextId, bus, context) {
    this.ids = { taskId, contextId };
    this.bus = bus;
    this.context = context;
  }

  /** Publish the task, new or continued: the SDK wants one first in every turn. */
  openTask() {
    const task = this.context.task ?? {
      id: this.ids.taskId,
      contextId: this.ids.contextId,
      status: this.status(TaskState.TASK_STATE_SUBMITTED),
      artifacts: [],
      history: [this.context.userMessage],
      metadata: {},
    };
    this.bus.publish(AgentEvent.task(task));
  }

  working(text) {
    this.update(TaskState.TASK_STATE_WORKING, text);
  }

  cancelled() {
    this.update(TaskState.TASK_STATE_CANCELED);
  }

  end({ state, text, artifact }) {
    if (state === "message") {
      this.bus.publish(AgentEvent.message({ ...this.message(text), taskId: "" }));
      return;
    }
    if (artifact !== undefined) {
      this.artifact(randomUUID(), part(artifact), { append: false, last: true });
    }
    this.update(STATES[state], text);
  }

  piece(text, { first, last }) {
    this.artifact("result", part(text), { append: !first, last });
  }

  artifact(artifactId, only, { append, last }) {
    this.bus.publish(
      AgentEvent.artifactUpdate({
        ...this.ids,
        artifact: {
          artifactId,
          name: "result",
          description: "",
          parts: [only],
          metadata: {},
          extensions: [],
        },
        append,
        lastChunk: last,
        metadata: {},
      }),
    );
  }

  update(state, text) {
    const status = this.status(state, text);
    this.bus.publish(AgentEvent.statusUpdate({ ...this.ids, status, metadata: {} }));
  }

  status(state, text) {
    const message = text === undefined ? undefined : this.message(text);
    return { state, message, timestamp: new Date().toISOString() };
  }

  message(text) {
    return {
      ...this.ids,
      messageId: randomUUID(),
      role: Role.ROLE_AGENT,
      parts: [part(text)],
      metadata: {},
      extensions: [],
      referenceTaskIds: [],
    };
  }
}

/** Hands the SDK's calls to the agent. */
class Executor {
  constructor(journal) {
    this.agent = new Agent(journal);
  }

  async execute(context, bus) {
    const { taskId, contextId, userMessage, task } = context;
    const words = userMessage.parts.map(({ content }) => content?.value);
    const turn = {
      messageId: userMessage.messageId,
      taskId,
      contextId,
      text: words.filter((word) => typeof word === "string").join("\n"),
      followUp: task !== undefined,
    };
    await this.agent.perform(turn, new Replies(taskId, contextId, bus, context));
  }

  async cancelTask(taskId, bus) {
    const answer = this.agent.cancelAsked(taskId);
    if (answer === "refuse") throw new TaskNotCancelableError(`Task not cancelable: ${taskId}`);
    // The SDK reads the bus only after this returns.
    if (answer === "nothing-runs") setImmediate(() => new Replies(taskId, "", bus).cancelled());
  }
}

function application({ mode, rpcUrl, restUrl, journal }) {
  const dual = mode === "dual";
  const versions = dual ? ["1.0", "0.3"] : ["1.0"];
  const card = {
    ...CARD,
    provider: undefined,
    supportedInterfaces: [
      ["JSONRPC", rpcUrl],
      ["HTTP+JSON", restUrl],
    ].flatMap(([protocolBinding, url]) =>
      versions.map((protocolVersion) => ({ url, protocolBinding, tenant: "", protocolVersion })),
    ),
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    skills: [
      { ...SKILL, examples: [], inputModes: [], outputModes: [], securityRequirements: [] },
    ],
    signatures: [],
  };
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    new Executor(journal),
  );
  const legacyCompat = { enabled: dual };
  const app = express();
  app.use(
    `/${AGENT_CARD_PATH}`,
    agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
  );
  const userBuilder = UserBuilder.noAuthentication;
  app.use(RPC_PATH, jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));
  app.use(REST_PATH, restHandler({ requestHandler, userBuilder, legacyCompat }));
  return app;
}

serve(application);
