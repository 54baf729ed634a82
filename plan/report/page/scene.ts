/** A rectangle of a picture, in pixels. */
export interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A line of text in a box. */
export interface Line {
  readonly text: string;
  readonly kind: "title" | "detail" | "badge";
}

/** A box with its lines, one below the other. Boxes never overlap; frames hold boxes. */
export interface Box extends Area {
  readonly kind: string;
  readonly lines: readonly Line[];
  /** Sheets of the stack that stands for machines, none for a box without one; 0 for a pool without a machine. */
  readonly sheets?: number;
}

/** What surrounds boxes, with a label at its top left. */
export interface Frame extends Area {
  readonly kind: string;
  readonly label: string;
  /** Pixels from the frame's left edge to the label. Default: 14. */
  readonly indent?: number;
}

/** A free label; `x` is its left end. */
export interface Label {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly text: string;
}

/** Who opens connections to what: a line from corner to corner that ends in a head. */
export interface Arrow {
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** A picture before it is drawn. */
export interface Scene {
  readonly width: number;
  readonly height: number;
  readonly frames: readonly Frame[];
  readonly boxes: readonly Box[];
  readonly labels: readonly Label[];
  readonly arrows: readonly Arrow[];
}

/** Height of a line of a box and the space around its lines. */
export const lineHeight = 18;
export const inset = 12;
/** Width of the drawing of a stack of machines beside the lines. */
export const stackWidth = 40;

/** Width of a character by the kind of its line: that of a wide system font, so that no text is wider. */
const characterWidth = { title: 9.2, detail: 7.6, badge: 8.4 } as const;

/** Text as long as there is room for, cut with an ellipsis. The tables below the picture have it in full. */
export function fitted(text: string, width: number, kind: Line["kind"] = "detail"): string {
  const most = Math.max(1, Math.floor(width / characterWidth[kind]));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** Height of a box with this number of lines. */
function boxHeight(lines: number): number {
  return lines * lineHeight + 2 * inset - 4;
}

/** Text in lines of at most so many pixels, broken between words. */
function wrapped(text: string, width: number): readonly string[] {
  const most = Math.max(8, Math.floor(width / characterWidth.detail));
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** What a box is made of. */
interface BoxContent {
  readonly kind: string;
  readonly title: string;
  /** Broken into as many lines as they need. */
  readonly details: readonly string[];
  readonly badge?: string | undefined;
  readonly sheets?: number;
}

/** A scene in the making: every text that is put on it is cut to the room that it has. */
export class Canvas {
  readonly frames: Frame[] = [];
  readonly boxes: Box[] = [];
  readonly labels: Label[] = [];
  readonly arrows: Arrow[] = [];

  /** Puts a box as high as its lines. */
  box({ kind, title, details, badge, sheets }: BoxContent, x: number, y: number, width: number): Box {
    const room = width - 2 * inset - (sheets === undefined ? 0 : stackWidth);
    const lines: Line[] = [
      { kind: "title", text: fitted(title, room, "title") },
      ...details.flatMap((text) => wrapped(text, room)).map((text) => ({ kind: "detail", text: fitted(text, room) }) as const),
      ...(badge === undefined ? [] : [{ kind: "badge", text: fitted(badge, room) } as const]),
    ];
    const marked = badge === undefined ? kind : `${kind} marked`;
    const box = {
      kind: marked,
      x,
      y,
      width,
      height: boxHeight(lines.length),
      lines,
      ...(sheets === undefined ? {} : { sheets }),
    };
    this.boxes.push(box);
    return box;
  }

  /** Puts a label, whose letters stand on `y`. */
  label(text: string, x: number, y: number, width: number): void {
    this.labels.push({ text: fitted(text, width), x, y, width });
  }

  arrow(...points: Arrow["points"]): void {
    this.arrows.push({ points });
  }
}
