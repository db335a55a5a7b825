// Runs an agent's Express application: the arguments, the port, the first line on standard output.

import http from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { Journal } from "./commands.mjs";

/** Unlike `import` it looks into NODE_PATH, which leads to what is installed. */
const require = createRequire(import.meta.url);

const HOST = "127.0.0.1";
export const RPC_PATH = "/rpc";
export const REST_PATH = "/rest";

/** What every card says, in both shapes. */
export const CARD = {
  name: "interop agent",
  description: "An agent of the a2a-delegate tests, on a server that others wrote.",
  version: "1.0.0",
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain", "application/json"],
};

export const SKILL = {
  id: "commands",
  name: "commands",
  description: "Commands of the tests.",
  tags: ["test"],
};

export const express = require("express");

/**
 * Load a module of the SDK's ES build, which is what its users import.
 *
 * In the CommonJS build each entry has error classes of its own, and the server then does not know
 * the errors that it raises itself.
 */
export function load(name) {
  return import(pathToFileURL(require.resolve(name).replace(/\.cjs$/u, ".js")));
}

/** Read the arguments, bind, build the application for that port, and serve it. */
export function serve(application) {
  const { values } = parseArgs({
    options: {
      mode: { type: "string" },
      port: { type: "string", default: "0" },
      journal: { type: "string" },
      "end-with-stdin": { type: "boolean", default: false },
    },
  });
  if (values["end-with-stdin"]) {
    process.stdin.on("end", () => process.exit(0)).resume();
  }
  const server = http.createServer();
  server.listen(Number(values.port), HOST, () => {
    const baseUrl = `http://${HOST}:${server.address().port}`;
    const options = {
      mode: values.mode,
      rpcUrl: baseUrl + RPC_PATH,
      restUrl: baseUrl + REST_PATH,
      journal: new Journal(values.journal),
    };
    server.on("request", application(options));
    console.log(`READY ${baseUrl}`);
  });
}
