export { everyAddOn, withEveryAddOn } from "../run/everyAddOn.ts";
