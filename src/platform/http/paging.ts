import { cursorPattern } from '../db/slices.ts';
import { Type } from '../schema.ts';
import { inCode } from './operation.ts';

// Parameters of operations that list.

export const limit = Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'Maximum number of entries.' });

export const cursor = Type.Optional(
  Type.String({
    description: 'Where the page begins: `next` of the previous page.',
    ...inCode({ pattern: cursorPattern }),
  }),
);

/** Of a list, a page at a time. */
export const paging = { limit, after: cursor };
