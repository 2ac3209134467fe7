import { FileDamaged, type FileRecord, parsed, type RecordReader, tooLong } from './records.ts';

type Frame = { isArray: boolean; key: string };

/**
 * The objects of a list in one JSON document: the document itself, or a member of it.
 * @param paths names of members that lead to a list, lists between them left out: `orgs`, `humanUsers`.
 * @param longest characters of an object.
 */
export function jsonElements(paths: readonly (readonly string[])[], longest: number): RecordReader {
  const frames: Frame[] = [];
  let at = 0;
  /** Text of a string or of an object that began in an earlier piece. */
  let kept = '';
  let isString = false;
  let isEscaped = false;
  /** Frames around the object that is read as a whole; undefined outside of one. */
  let outside: number | undefined;
  let isOverlong = false;
  let wasEmpty = true;

  const isList = (): boolean => {
    if (!frames.at(-1)?.isArray) return false;
    const names = frames.flatMap(({ isArray, key }) => (isArray ? [] : [key]));
    return paths.some((path) => path.length === names.length && path.every((name, depth) => name === names[depth]));
  };

  function close(isArray: boolean): void {
    if (frames.pop()?.isArray !== isArray) throw new FileDamaged('The document is not valid JSON.');
  }

  /** A key is a string that a colon follows; the value after it begins with another sign. */
  function endString(text: string): void {
    const frame = frames.at(-1);
    if (outside === undefined && frame && !frame.isArray) frame.key = text;
  }

  /** What is kept of the piece before goes on at the beginning of this one. */
  function push(text: string): FileRecord[] {
    const records: FileRecord[] = [];
    let from = 0;
    const keep = (to: number) => {
      kept += text.slice(from, to);
      if (kept.length > longest) {
        isOverlong = true;
        kept = '';
      }
    };
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (isString) {
        if (isEscaped) isEscaped = false;
        else if (code === backslash) isEscaped = true;
        else if (code === quote) {
          isString = false;
          if (outside === undefined) {
            keep(index);
            endString(kept);
            kept = '';
          }
        }
      } else if (code === quote) {
        isString = true;
        if (outside === undefined) from = index + 1;
      } else if (code === brace || code === bracket) {
        wasEmpty = false;
        if (outside === undefined && code === brace && isList()) {
          outside = frames.length;
          from = index;
        }
        frames.push({ isArray: code === bracket, key: '' });
      } else if (code === endBrace || code === endBracket) {
        close(code === endBracket);
        if (outside === frames.length) {
          keep(index + 1);
          at += 1;
          records.push(isOverlong ? { at, problem: tooLong } : parsed(at, kept));
          kept = '';
          isOverlong = false;
          outside = undefined;
        }
      }
    }
    if (outside !== undefined || isString) keep(text.length);
    return records;
  }

  return {
    push,
    end() {
      if (frames.length > 0 || isString || wasEmpty) throw new FileDamaged('The document ends early.');
      return [];
    },
  };
}

const quote = 0x22;
const backslash = 0x5c;
const bracket = 0x5b;
const endBracket = 0x5d;
const brace = 0x7b;
const endBrace = 0x7d;
