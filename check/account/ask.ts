/** Each loads its cloud's SDK alone. */
export const askers = { aws: () => import("./aws/account.ts"), azure: () => import("./azure/account.ts") };
