import { invalidFields, invalidRequest } from '../errors.ts';
import type { Static, TSchema } from '../schema.ts';
import { compile } from '../validator.ts';
import { FormText } from './parameters.ts';

/** @throws {RequestError} `invalid_request` unless nothing, or `{}`, was sent. */
export function readNoBody(body: unknown): void {
  if (body === undefined || (body instanceof FormText && body.text === '')) return;
  const isEmpty =
    typeof body === 'object' &&
    body !== null &&
    !(body instanceof FormText) &&
    !Array.isArray(body) &&
    Object.keys(body).length === 0;
  if (!isEmpty) throw invalidRequest('This endpoint does not accept a body. Nothing was changed.');
}

/**
 * A reader of JSON bodies; it throws `invalid_request` with every problem. The schema should have
 * `additionalProperties: false`, so that no member is silently ignored.
 */
export function jsonBody<Schema extends TSchema>(schema: Schema): (body: unknown) => Static<Schema> {
  const shape = compile(schema);
  return (body) => {
    if (!shape.check(body)) throw invalidFields(shape.problems(body));
    return body;
  };
}
