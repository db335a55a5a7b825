// Runs an agent's Express application: the arguments, the port, the first line on standard output.
"use strict";

const http = require("node:http");
const { parseArgs } = require("node:util");
const { Journal } = require("./commands.cjs");

const HOST = "127.0.0.1";
const RPC_PATH = "/rpc";

/** What every card says, in both shapes. */
const CARD = {
  name: "interop agent",
  description: "An agent of the a2a-delegate tests, on a server that others wrote.",
  version: "1.0.0",
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain", "application/json"],
};

const SKILL = {
  id: "commands",
  name: "commands",
  description: "Commands of the tests.",
  tags: ["test"],
};

/** Read the arguments, bind, build the application for that port, and serve it. */
function serve(application) {
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
      journal: new Journal(values.journal),
    };
    server.on("request", application(options));
    console.log(`READY ${baseUrl}`);
  });
}

module.exports = { CARD, RPC_PATH, SKILL, serve };
