import { readdirSync } from "node:fs";
import path from "node:path";
import { type Complete, RootCommand, script } from "@bomb.sh/tab";
import { Argument, type CommandUnknownOpts, Command as Declaration, type Option } from "@commander-js/extra-typings";
import { type Command, commandOf, exitCodes } from "./exit.ts";
import { programFolder } from "./packages.ts";

export const command = commandOf(
  new Declaration()
    .description(
      "Prints what completes the commands, options, stacks and files of fenestra on the command line of a shell.\n\nbash, in ~/.bashrc:  source <(cli/fenestra completion bash)\nzsh, in ~/.zshrc:    source <(cli/fenestra completion zsh)\nPowerShell, in $PROFILE:  cli/fenestra completion powershell | Out-String | Invoke-Expression",
    )
    .addArgument(new Argument("<shell>", "the shell").choices(["bash", "zsh", "fish", "powershell"] as const)),
  async (_options, { out }, shell) => {
    out(lacking[shell] ?? "");
    script(shell, "fenestra", `'${path.join(programFolder, "cli/fenestra")}'`);
    return exitCodes.fine;
  },
);

/** What a script takes for there, and not every machine has: the package bash-completion, a call in ~/.zshrc. */
const lacking: Readonly<Record<string, string>> = {
  bash: `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
  cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words=("\${COMP_WORDS[@]}") cword=$COMP_CWORD
}
`,
  zsh: `whence compdef >/dev/null || { autoload -U compinit && compinit -i; }
`,
};

/** Prints what may stand for the last of the words that a shell asks about. @param called the command among them */
export function printCompletions(root: CommandUnknownOpts, called: Command | undefined, words: readonly string[]) {
  const tab = new RootCommand();
  const files = () => filesAt(words.at(-1) ?? "");
  const values = (name: string, choices: readonly string[] | undefined, placeholder: string) => {
    const named = called?.complete[name] ?? (choices === undefined ? undefined : () => choices);
    return named ?? (/FILE|DIR|PATH|BASE/.test(placeholder) ? files : () => []);
  };
  const addOption = (target: Pick<RootCommand, "option">, option: Option): void => {
    const { required, description } = option;
    const name = option.long?.slice(2) ?? "";
    const alias = option.short?.slice(1);
    const of = values(option.attributeName(), option.argChoices, option.flags);
    if (required) target.option(name, description, adding(of), alias);
    else target.option(name, description, alias);
  };
  const help = root.createHelp();
  for (const each of help.visibleCommands(root)) {
    const target = tab.command(each.name(), each.summary());
    for (const option of [...help.visibleOptions(each), ...help.visibleOptions(root)]) addOption(target, option);
    for (const argument of each.registeredArguments) {
      const of = values(argument.name(), argument.argChoices, argument.name());
      target.argument(argument.name(), adding(of), argument.variadic);
    }
  }
  for (const option of help.visibleOptions(root)) addOption(tab, option);
  tab.parse([...words]);
}

const adding = (of: () => readonly string[]) => (add: Complete) => {
  for (const value of of()) add(value, "");
};

/** Files and folders whose path begins like this, folders with a slash. */
function filesAt(begun: string): readonly string[] {
  const typed = begun.replace(/^--[a-z-]+=/, "");
  const folder = typed.slice(0, typed.lastIndexOf("/") + 1);
  try {
    return readdirSync(folder || ".", { withFileTypes: true }).map(
      (entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`,
    );
  } catch {
    return [];
  }
}
