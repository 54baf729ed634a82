import { registerHooks } from "node:module";

let seen = 0;
registerHooks({
  load: (url, context, next) => {
    seen += 1;
    if (/node_modules\/@(aws-sdk|azure)\//.test(url)) process.stderr.write(`loaded: ${url}\n`);
    return next(url, context);
  },
});
process.on("exit", () => process.stderr.write(`seen by the hook: ${seen}\n`));
