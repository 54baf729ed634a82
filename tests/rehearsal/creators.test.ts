import assert from "node:assert/strict";
import { creatorsIn } from "../../rehearsal/cluster/inspect.ts";

/** A line of an audit log (audit.k8s.io/v1 Event), as far as it is read. */
const event = (username: string | undefined, name: string | undefined, code: number | undefined) =>
  JSON.stringify({
    kind: "Event",
    verb: "create",
    user: username === undefined ? {} : { username },
    objectRef: { resource: "nodes", ...(name === undefined ? {} : { name }) },
    ...(code === undefined ? {} : { responseStatus: { code } }),
  });

describe("the users that created Nodes, by audit logs", () => {
  it("are those of answers 201, and of nodes that an API server made while it answered with an error", () => {
    const found = creatorsIn([
      event("system:node:a", "a", 201),
      event("system:node:b", undefined, 201),
      event("system:node:c", "c", 500),
      event("system:node:c", "c", 409),
      event("system:node:d", "d", undefined),
    ]);
    const wanted = ["c", "d", "a", "b"].map((name) => [name, `system:node:${name}`]);
    assert.deepEqual([...found], wanted);
  });

  it("are not those who were refused or came too late", () => {
    const refused = creatorsIn([event("system:bootstrap:abc", "a", 403), event("nobody", "a", 422), event(undefined, undefined, 401)]);
    assert.deepEqual([...refused], []);
    const late = creatorsIn([event("system:node:a", "a", 201), event("nobody", "a", 409)]);
    assert.deepEqual([...late], [["a", "system:node:a"]]);
  });
});
