/** What a place in a bash script is inside of, innermost last. */
type Frame = "command" | "substitution" | "double";

/**
 * Takes the lines out of a bash script that hold nothing but a comment or nothing at all. The first line stays when it is a shebang.
 * Here-documents, quoted text and lines that continue another one are left as they are.
 */
export function stripComments(source: string): string {
  const kept: string[] = [];
  const scan = { frames: ["command"] as Frame[], single: false, heredocs: [] as Heredoc[] };
  const lines = source.split("\n");
  let continued = false;
  for (const [index, line] of lines.entries()) {
    const [document] = scan.heredocs;
    if (document !== undefined) {
      kept.push(line);
      if ((document.tabs ? line.replace(/^\t+/, "") : line) === document.end) scan.heredocs.shift();
      continue;
    }
    const inText = scan.single || scan.frames.at(-1) === "double";
    const last = index === lines.length - 1;
    if (!inText && !continued && !last && /^\s*(#.*)?$/.test(line) && !(index === 0 && line.startsWith("#!"))) continue;
    kept.push(line);
    continued = scanLine(line, scan, lines.slice(index + 1));
  }
  return kept.join("\n");
}

/** A here-document that begins on the next line. */
interface Heredoc {
  readonly end: string;
  /** `<<-`: leading tabs of its lines are dropped. */
  readonly tabs: boolean;
}

interface Scan {
  readonly frames: Frame[];
  single: boolean;
  readonly heredocs: Heredoc[];
}

/** Characters with which anything begins or ends that a scan follows. */
const marks: ReadonlySet<string> = new Set("\\\"'()$<#");

/** Follows quotes, substitutions and here-documents through one line. Tells whether the line continues on the next. */
function scanLine(line: string, scan: Scan, following: readonly string[]): boolean {
  for (let at = 0; at < line.length; at += 1) {
    if (!marks.has(line.charAt(at))) continue;
    const rest = line.slice(at);
    if (scan.single) {
      scan.single = !rest.startsWith("'");
    } else if (rest.startsWith("\\")) {
      at += 1;
      if (at >= line.length) return true;
    } else if (scan.frames.at(-1) === "double") {
      at += scanDouble(rest, scan);
    } else if (/(^|[\s;|&()])$/.test(line.slice(0, at)) && rest.startsWith("#")) {
      return false;
    } else {
      at += scanCommand(rest, scan, following);
    }
  }
  return false;
}

/** Inside of double quotes; tells how many characters more than one were read. */
function scanDouble(rest: string, scan: Scan): number {
  if (rest.startsWith('"')) scan.frames.pop();
  else if (rest.startsWith("$(")) {
    scan.frames.push("substitution");
    return 1;
  }
  return 0;
}

/** Where commands stand; tells how many characters more than one were read. */
function scanCommand(rest: string, scan: Scan, following: readonly string[]): number {
  if (rest.startsWith("$'")) {
    const text = /^\$'(?:[^'\\]|\\.)*'/.exec(rest)?.[0];
    if (text !== undefined) return text.length - 1;
  }
  if (rest.startsWith("'")) scan.single = true;
  else if (rest.startsWith('"')) scan.frames.push("double");
  else if (rest.startsWith("(")) scan.frames.push("substitution");
  else if (rest.startsWith(")")) {
    // The pattern of a case ends with a parenthesis that nothing opened.
    if (scan.frames.at(-1) === "substitution") scan.frames.pop();
  } else if (rest.startsWith("<<<")) return 2;
  else if (rest.startsWith("<<")) {
    const match = /^<<(-?)\s*(?:'([^']+)'|"([^"]+)"|\\?([A-Za-z_][\w.-]*))/.exec(rest);
    const end = match?.[2] ?? match?.[3] ?? match?.[4];
    const tabs = match?.[1] === "-";
    // Without a line that ends it, it is a shift of bits.
    if (
      match !== null &&
      end !== undefined &&
      following.some((line) => (tabs ? line.replace(/^\t+/, "") : line) === end)
    ) {
      scan.heredocs.push({ end, tabs });
      return match[0].length - 1;
    }
  }
  return 0;
}
