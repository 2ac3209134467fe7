import { invalidRequest } from '../errors.ts';
import { FormText } from './parameters.ts';

/** For what says everything by its address. @throws {RequestError} `invalid_request` unless nothing, or `{}`, was sent. */
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
