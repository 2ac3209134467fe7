/**
 * Makes src/clients/confusables.txt anew from Unicode's data (UTS #39 §4):
 *
 *   node scripts/confusables.ts confusables.txt
 *
 * The argument is https://www.unicode.org/Public/security/latest/confusables.txt (for 18.0.0 its table in the crate
 * unicode-security 0.1.3, written in that format). Left out is what `name-skeleton.ts` never looks up: combining marks,
 * what compatibility decomposition resolves already, and what looks like a sign, since signs do not count.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { withoutMarks } from '../src/clients/name-skeleton.ts';

const target = new URL('../src/clients/confusables.txt', import.meta.url);
const source = readFileSync(process.argv[2]!, 'utf8');
const text = (hex: string) => String.fromCodePoint(...hex.split(' ').map((one) => Number.parseInt(one, 16)));
const hex = (of: string) => [...of].map((one) => one.codePointAt(0)!.toString(16)).join('-');

const byPrototype = new Map<string, string[]>();
for (const [, from = '', to = ''] of source.matchAll(/^([0-9A-F]+) ;\s*([0-9A-F ]+?)\s*;/gm)) {
  const [character, prototype] = [text(from), withoutMarks(text(to))];
  if (withoutMarks(character) !== character || prototype === character || !/[\p{L}\p{N}]/u.test(prototype)) continue;
  byPrototype.set(prototype, [...(byPrototype.get(prototype) ?? []), character]);
}

const license = readFileSync(target, 'utf8').match(/^# The data is under[\s\S]*?(?=\n[^#])/m)![0];
const entries = [...byPrototype].sort().map(([prototype, of]) => `${hex(prototype)}=${of.map(hex).join(',')}`);
writeFileSync(
  target,
  `# Unicode ${/Version: (\S+)/.exec(source)![1]}, confusables.txt: prototype=characters, in hexadecimal. Made by scripts/confusables.ts.
#
${license}
${entries.join('\n')}
`,
);
