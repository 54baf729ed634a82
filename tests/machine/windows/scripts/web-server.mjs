// Answers as bad servers do; writes its port into the file that it is given.
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";

const answers = {
  "/text": (_request, response) => response.end("i-0123456789abcdef0"),
  "/refused-chunked": (_request, response) => {
    response.writeHead(400, { "transfer-encoding": "chunked" });
    response.write("<Code>ValidationError</Code> ");
    response.end("No active Lifecycle Action");
  },
  "/silent": () => {},
  "/trickle": (_request, response) => {
    response.writeHead(200, { "content-length": "100" });
    const timer = setInterval(() => response.write("."), 500);
    response.on("close", () => clearInterval(timer));
  },
  "/bytes": (_request, response) => response.end(Buffer.from([0, 255, 10])),
  "/echo": (request, response) => {
    let body = "";
    request.on("data", (part) => {
      body += part;
    });
    request.on("end", () => {
      const { authorization, "content-type": type, "content-length": length } = request.headers;
      response.end(JSON.stringify({ method: request.method, type, length, body, authorization }));
    });
  },
};

const server = createServer((request, response) => {
  const answer = answers[request.url];
  if (answer) answer(request, response);
  else response.writeHead(404).end();
});
server.listen(0, "127.0.0.1", () => writeFileSync(process.argv[2], String(server.address().port)));
