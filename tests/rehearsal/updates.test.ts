import assert from "node:assert/strict";
import { movesOf, type Versions } from "../../rehearsal/checks/updateWatch.ts";

describe("the order of an update", () => {
  const look = (apiServers: string, controller: string, workers: string): Versions => ({
    apiServers: [...apiServers].filter((minor) => minor !== "-"),
    programs: { agent: "1", controller },
    workers: [...workers],
  });
  const good = [
    look("666", "6", "66"),
    look("-66", "6", "66"),
    look("776", "6", "66"),
    look("77-", "6", "66"),
    look("777", "7", "66"),
    look("777", "7", "67"),
  ];

  it("has the API servers first, then programs that moved, then kubelets", () => {
    assert.deepEqual(movesOf(good, "7"), { order: ["API servers", "controller", "kubelets"], early: [] });
  });

  it("is wrong where one of them comes sooner", () => {
    const at = (index: number, sooner: Versions) => movesOf(good.with(index, sooner), "7").early;
    assert.deepEqual(at(1, look("-66", "7", "66")), ["controller before API servers"]);
    assert.deepEqual(at(2, look("776", "7", "66")), ["controller before API servers"]);
    // The last old one is gone.
    assert.deepEqual(at(3, look("77-", "7", "66")), []);
    assert.deepEqual(at(3, look("777", "6", "67")), ["kubelets before controller"]);
  });
});
