import type { Column } from '../platform/db/rows.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import type { TSchema } from '../platform/schema.ts';

type PlainKind = 'text' | 'lines' | 'json' | 'switch' | 'scopes' | 'second_factor' | 'library';
/** How a form and a command send it: one line of text, a text on each line, JSON, a switch, one of a few values, or in its own way. */
export type Control =
  | { kind: PlainKind }
  | {
      kind: 'choice';
      values: readonly string[];
      as: 'radio' | 'select';
      /** The texts of its values are `developer.<texts>.<value>`. */
      texts: string;
      /** The value in those texts, and in commands, for null. */
      unset?: string;
    };

export type ClientField = {
  column: Column<unknown>;
  /** Of a registration, an edit and a draft. */
  body: TSchema;
  /** Of a client as its owner and administrators read it. */
  record: TSchema;
  /** Of a registration that leaves it out; a field without one is required, or follows from others. */
  initial?: unknown;
  control: Control;
  /** The part of the form: for every client, what the choice of a library fills in, and what few need. */
  part: 'main' | 'technical' | 'more';
  /** Of `signet clients create` and `edit`, without what follows from the control. */
  option: { name: string; value?: string; help: string };
  /** What its schema cannot say, for the text or for each of the list. */
  problem?: (text: string) => MessageDescriptor | undefined;
  /** Users and reviewers get a link to it: what a host of it looks like is a risk. */
  isLink?: true;
};
