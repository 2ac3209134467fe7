import { type FileRecord, parsed, type RecordReader, tooLong } from './records.ts';

/** One JSON value a line. A damaged line is refused alone; an empty one is none. @param longest characters of a line. */
export function jsonLines(longest: number): RecordReader {
  let rest = '';
  let line = 0;
  let isOverlong = false;

  function take(text: string): FileRecord[] {
    line += 1;
    const whole = rest + text;
    rest = '';
    if (isOverlong || whole.length > longest) {
      isOverlong = false;
      return [{ at: line, problem: tooLong }];
    }
    return whole.trim() === '' ? [] : [parsed(line, whole)];
  }

  return {
    push(text) {
      const pieces = text.split('\n');
      const last = pieces.pop()!;
      const records = pieces.flatMap(take);
      rest += last;
      if (rest.length > longest) {
        isOverlong = true;
        rest = '';
      }
      return records;
    },
    end: () => (rest === '' && !isOverlong ? [] : take('')),
  };
}
