import { FileDamaged, type FileRecord, type RecordReader, tooLong } from './records.ts';

/**
 * Rows of RFC 4180 as objects, by the names of the first row. A line may end with LF alone, and a row with another number of cells
 * is refused. Cells are texts; an empty one is left out.
 * @param longest characters of a row.
 */
export function csvRecords(longest: number): RecordReader {
  let names: readonly string[] | undefined;
  let cells: string[] = [];
  let cell = '';
  let length = 0;
  let row = 0;
  /** `quoted`: within quotation marks; `quote`: after one within them, which ends the cell or is the first of two. */
  let state: 'start' | 'plain' | 'quoted' | 'quote' = 'start';

  function endRow(): FileRecord[] {
    cells.push(cell);
    const ended = cells;
    const isOverlong = length > longest;
    cells = [];
    cell = '';
    length = 0;
    state = 'start';
    if (ended.length === 1 && ended[0] === '') return [];
    row += 1;
    if (!names) {
      names = ended.map((name) => name.trim());
      if (new Set(names).size < names.length) throw new FileDamaged('Two columns have the same name.');
      return [];
    }
    if (isOverlong) return [{ at: row, problem: tooLong }];
    if (ended.length !== names.length) {
      return [{ at: row, problem: `Has ${ended.length} cells, and the first row has ${names.length}.` }];
    }
    const filled = names.flatMap((name, place) => (ended[place] === '' ? [] : [[name, ended[place]]]));
    return [{ at: row, value: Object.fromEntries(filled) }];
  }

  const add = (text: string) => {
    length += text.length;
    if (length <= longest) cell += text;
  };

  return {
    push(text) {
      const records: FileRecord[] = [];
      for (const character of text) {
        if (state === 'quoted') {
          if (character === '"') state = 'quote';
          else add(character);
        } else if (character === '"' && state !== 'plain') {
          if (state === 'quote') add('"');
          state = 'quoted';
        } else if (character === ',') {
          cells.push(cell);
          cell = '';
          state = 'start';
        } else if (character === '\n') {
          if (cell.endsWith('\r') && state === 'plain') cell = cell.slice(0, -1);
          records.push(...endRow());
        } else if (state === 'quote') {
          if (character !== '\r') throw new FileDamaged(`Row ${row + 1} has text after a closing quotation mark.`);
        } else {
          state = 'plain';
          add(character);
        }
      }
      return records;
    },
    end() {
      if (state === 'quoted') throw new FileDamaged('The file ends within a quoted cell.');
      return cells.length > 0 || cell !== '' || state !== 'start' ? endRow() : [];
    },
  };
}
