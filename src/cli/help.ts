import { version } from '../platform/version.ts';
import { asTyped, type Command, type Option, operandOf } from './command.ts';

const width = 80;

/** Everything that can be typed, by what it is about. */
export function overviewOf(groups: readonly (readonly [heading: string, commands: readonly string[][]])[]): string {
  const said = groups.map(([heading, commands]) => `${heading}\n${columns(commands)}`);
  return `Signet ${version}: an OpenID Connect and OAuth identity provider.

Usage: signet <command> [options]

${said.join('\n\n')}

Commands work on the database of a running server, too. Every command supports
--help and --json. Exit codes: 0 success, 1 refused or failed, 2 usage error.
`;
}

export function helpOf(name: string, { summary, operands = {}, options = {} }: Command): string {
  const known = Object.entries(options);
  const pieces = [
    ...Object.values(operands).map(operandOf),
    ...known.map((one) => (one[1].required ? asTyped(one) : `[${asTyped(one)}]`)),
  ];
  const explained = known.map((one) => [asTyped(one), explain(one[1])]);
  const everywhere = [
    ['--json', 'print JSON'],
    ['--help', 'show this help'],
  ];
  const begin = `Usage: signet ${name}`;
  const inOneLine = [begin, ...pieces].join(' ');
  const usage = inOneLine.length <= width ? inOneLine : [begin, ...wrap(pieces, width - 4)].join('\n    ');
  return `${usage}

${wrap(summary.split(' '), width).join('\n')}

Options:
${columns([...explained, ...everywhere])}
`;
}

function explain({ help, value, oneOf, integer, separator }: Option): string {
  if (oneOf && value) return `${help}; one of ${oneOf.join(', ')}`;
  if (integer && integer[1] < Number.MAX_SAFE_INTEGER) return `${help}; ${integer[0]} to ${integer[1]}`;
  if (separator === 'never') return `${help}; can be repeated`;
  return separator ? `${help}; separate several with spaces` : help;
}

/** Two columns. The second one is wrapped within what the first leaves of the line. */
export function columns(rows: readonly (readonly string[])[]): string {
  const first = Math.min(30, Math.max(...rows.map(([cell = '']) => cell.length)));
  return rows.map(([cell = '', text = '']) => row(cell, text, first)).join('\n');
}

function row(cell: string, text: string, first: number): string {
  const margin = ' '.repeat(first + 4);
  const wrapped = wrap(text.split(' '), width - margin.length).join(`\n${margin}`);
  return cell.length > first ? `  ${cell}\n${margin}${wrapped}` : `  ${cell.padEnd(first)}  ${wrapped}`;
}

/** Lines of at most so many characters, unless one piece is longer. */
function wrap(pieces: readonly string[], most: number): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + piece.length <= most) lines[lines.length - 1] = `${last} ${piece}`;
    else lines.push(piece);
  }
  return lines;
}
