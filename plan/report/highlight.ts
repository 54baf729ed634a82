import { escapeHtml } from "./markdown.ts";

/** Kinds of text in a file, as classes of the page. */
type Kind = "comment" | "string" | "keyword" | "number" | "key";

interface Language {
  readonly files: RegExp;
  /** Each alternative is a named group of `Kind`; the first that matches wins. */
  readonly tokens: RegExp;
}

const languages: readonly Language[] = [
  {
    files: /\.ps1$/i,
    tokens:
      /(?<comment>#[^\n]*)|(?<string>'(?:[^']|'')*'|"(?:[^"`]|`.)*")|(?<key>\$[\w:]+)|(?<keyword>\b(?:function|param|if|else|elseif|foreach|for|while|do|try|catch|finally|return|throw|switch|break|continue|exit|in)\b)|(?<number>\b\d+\b)/gi,
  },
  {
    files: /\.(sh|env)$|\/bin\/[^/]+$/,
    tokens:
      /(?<comment>(?:^|(?<=\s))#[^\n]*)|(?<string>'[^']*'|"(?:[^"\\]|\\.)*")|(?<key>\$\{?\w+\}?)|(?<keyword>\b(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|in|function|return|exit|local|set)\b)|(?<number>\b\d+\b)/gm,
  },
  {
    files: /\.(json|conflist)$/,
    tokens:
      /(?<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*")|(?<keyword>\b(?:true|false|null)\b)|(?<number>-?\b\d[\d.eE+-]*\b)/g,
  },
  {
    files: /./,
    tokens:
      /(?<comment>(?:^|(?<=\s))[#;][^\n]*)|(?<key>^\s*-?\s*[\w./-]+(?=\s*[:=]))|(?<string>'[^'\n]*'|"(?:[^"\\\n]|\\.)*")|(?<keyword>\b(?:true|false|null)\b|^\[[^\]\n]+\])|(?<number>\b\d+\b)/gm,
  },
];

/**
 * A file's text as HTML with its comments, strings, keywords and names in spans. Colours only: a reader of the text alone loses nothing.
 */
export function highlight(path: string, text: string): string {
  const language = languages.find(({ files }) => files.test(path));
  if (language === undefined) return escapeHtml(text);
  let html = "";
  let at = 0;
  for (const match of text.matchAll(language.tokens)) {
    const kind = kindOf(match.groups ?? {});
    html += escapeHtml(text.slice(at, match.index));
    html += kind === undefined ? escapeHtml(match[0]) : `<span class="${kind}">${escapeHtml(match[0])}</span>`;
    at = match.index + match[0].length;
  }
  return html + escapeHtml(text.slice(at));
}

function kindOf(groups: Readonly<Record<string, string | undefined>>): Kind | undefined {
  const kinds: readonly Kind[] = ["comment", "string", "keyword", "number", "key"];
  return kinds.find((kind) => groups[kind] !== undefined);
}
