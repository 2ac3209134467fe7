import { version as programVersion } from '../platform/config.ts';
import { type Static, type TSchema, Type } from '../platform/schema.ts';
import { compile } from '../platform/validator.ts';
import { kinds } from './kinds/all.ts';

// A file of JSON Lines: a header, a record a line, and the end. docs/import/export.schema.json is made of it.

export const formatName = 'signet-export';
/** Another one once files can no longer be read as before. A member that is new is none. */
export const formatVersion = 1;

/** Characters of a line. */
export const longestLine = 4_194_304;

const Header = Type.Object(
  {
    format: Type.Literal(formatName),
    version: Type.Integer({ minimum: 1 }),
    issuer: Type.String({
      description: 'The issuer of the Signet that has written it.',
      minLength: 1,
      maxLength: 2048,
    }),
    exported_at: Type.Integer({ description: 'Unix seconds.' }),
    program: Type.Optional(Type.String({ description: 'The version of that Signet.' })),
  },
  { description: 'The first line.', additionalProperties: false },
);
export type Header = Static<typeof Header>;
export const headerShape = compile(Header);

const End = Type.Object(
  {
    kind: Type.Literal('end'),
    record: Type.Object(
      {
        records: Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { description: 'How many of each kind.' }),
        sha256: Type.String({ description: 'In hexadecimal: of all lines before, each with its line feed.' }),
      },
      { additionalProperties: false },
    ),
  },
  { description: 'The last line.', additionalProperties: false },
);
export type End = Static<typeof End>['record'];
export const endShape = compile(End);

const lineOf = (name: string, description: string, record: TSchema): TSchema =>
  Type.Object({ kind: Type.Literal(name), record }, { description, additionalProperties: false });

/** Of a line. */
export const LineOfExport: TSchema = {
  title: 'A line of an export',
  description: 'What `signet export` writes, and `signet import` reads. Times are Unix seconds.',
  anyOf: [Header, ...kinds.map(({ name, description, schema }) => lineOf(name, description, schema)), End],
};

export const headerOf = (issuer: string, exported_at: number): Header => ({
  format: formatName,
  version: formatVersion,
  issuer,
  exported_at,
  program: programVersion,
});
