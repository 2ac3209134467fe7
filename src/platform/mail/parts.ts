/** A value in a message, with its name: where it stands decides what becomes of it. */
export class Named {
  readonly name: string;
  readonly text: string;
  constructor(name: string, text: string) {
    this.name = name;
    this.text = text;
  }
  /** As the plain text has it, and as a choice in a message reads it. */
  toString(): string {
    return this.text;
  }
}

/** A run of text, a value, or a URL of our own. */
export type Piece = string | Named;

/** What a mail is made of besides its heading and its end. */
export type MailPart =
  | { kind: 'paragraph'; pieces: readonly Piece[] }
  /** What another person has written. */
  | { kind: 'quote'; text: string }
  /** To be typed elsewhere. */
  | { kind: 'code'; text: string }
  | { kind: 'button'; link: Named };

/** Values that are URLs of our own. */
export const isLink = ({ name }: Named): boolean => /(?:^|_)url$/.test(name);

/** Values that are sentences of ours, with our URLs and what others have written in them. */
const composed: ReadonlySet<string> = new Set(['others', 'waiting']);

/**
 * The parts of a message: its paragraphs; what stands alone in one, which is a quotation or a code; and a button for its first URL,
 * at the end of a paragraph or line. Every other URL is a link where it stands.
 * @param links what may be a link in a value that is composed.
 */
export function partsOf(message: readonly Piece[], links: readonly Named[]): MailPart[] {
  const parts: MailPart[] = [];
  let hasButton = false;
  for (const pieces of paragraphsOf(message.flatMap((piece) => opened(piece, links)))) {
    const at = hasButton ? -1 : pieces.findIndex((piece) => piece instanceof Named && isLink(piece));
    const [only] = pieces;
    if (pieces.length === 1 && only instanceof Named && (only.name === 'reason' || only.name === 'code')) {
      parts.push({ kind: only.name === 'code' ? 'code' : 'quote', text: only.text });
    } else if (at !== -1 && endsLine(pieces[at + 1])) {
      const [before, after] = [trimmed(pieces.slice(0, at)), trimmed(pieces.slice(at + 1))];
      if (before.length > 0) parts.push({ kind: 'paragraph', pieces: before });
      parts.push({ kind: 'button', link: pieces[at] as Named });
      if (after.length > 0) parts.push({ kind: 'paragraph', pieces: after });
      hasButton = true;
    } else if (pieces.length > 0) {
      parts.push({ kind: 'paragraph', pieces });
    }
  }
  return parts;
}

const endsLine = (next: Piece | undefined): boolean =>
  next === undefined || (typeof next === 'string' && next[0] === '\n');

/** A composed value as the text and the URLs that it is made of. */
function opened(piece: Piece, links: readonly Named[]): Piece[] {
  if (!(piece instanceof Named) || !composed.has(piece.name)) return [piece];
  return piece.text.split(/(https?:\S+)/).map((text) => links.find((link) => link.text === text) ?? text);
}

/** An empty line ends a paragraph; one within a value does not. */
function paragraphsOf(pieces: readonly Piece[]): Piece[][] {
  const paragraphs: Piece[][] = [[]];
  for (const piece of pieces) {
    const [first = '', ...others] = typeof piece === 'string' ? piece.split('\n\n') : [piece];
    paragraphs.at(-1)!.push(first);
    paragraphs.push(...others.map((text) => [text]));
  }
  return paragraphs.map(trimmed);
}

/** Without empty runs of text, and without white space around it all. */
function trimmed(pieces: readonly Piece[]): Piece[] {
  const kept = pieces.filter((piece) => piece instanceof Named || piece !== '');
  const [first, last] = [kept[0], kept.at(-1)];
  if (typeof first === 'string') kept[0] = first.trimStart();
  if (typeof last === 'string') kept[kept.length - 1] = String(kept.at(-1)).trimEnd();
  return kept.filter((piece) => piece instanceof Named || piece !== '');
}
