/** Loads the program with its AWS side, makes nothing, and prints how long the process took so far, in milliseconds. */
await import("../index.ts");
await import("../stacks/aws.ts");
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ wall: performance.now(), cpu: (user + system) / 1000 }));

export {};
