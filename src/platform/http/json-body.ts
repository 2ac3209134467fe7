import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { invalidFields } from '../errors.ts';
import { shapeProblems } from '../text/field-problems.ts';

/**
 * A reader of JSON bodies of that shape; the schema also describes the body in OpenAPI. Say `additionalProperties: false`
 * in it: whoever sends another member believes that it did something.
 * @returns a function that throws `invalid_request` with every problem.
 */
export function jsonBody<Schema extends TSchema>(schema: Schema): (body: unknown) => Static<Schema> {
  const shape = Compile(schema);
  return (body) => {
    if (!shape.Check(body)) throw invalidFields(shapeProblems(shape.Errors(body)));
    return body as Static<Schema>;
  };
}
