import { isUtf8 } from 'node:buffer';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import { invalidRequest } from '../errors.ts';
import { FormText } from './parameters.ts';

/**
 * JSON, and forms, which stay text until their route reads them. An empty body is none, whatever its content type
 * (RFC 9110 §6.4.1): many HTTP clients send one with every POST.
 */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const add = (type: string, parse: Parse) => addParser(app, type, parse);
  add('application/x-www-form-urlencoded', (text, request) => {
    if (text !== '') refuseFormForJson(request);
    return new FormText(text);
  });
  add('application/json', (text, request) => {
    if (bodyOf(request)?.form && text !== '') throw invalidRequest(jsonForForm);
    return readJson(text);
  });
  add('*', (text, request) => {
    if (text === '' || request.is404) return undefined;
    throw new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(request.headers['content-type']);
  });
}

type Parse = (text: string, request: FastifyRequest) => unknown;

function addParser(app: FastifyInstance, type: string, parse: Parse): void {
  app.addContentTypeParser(type, { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      done(null, parse(readText(bytes as Buffer), request));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** JSON under a type of its own, for the routes of a plugin. */
export const readJsonAs = (app: FastifyInstance, type: string): void => addParser(app, type, readJson);

/** Text under a type of its own, for the routes of a plugin. */
export const readTextAs = (app: FastifyInstance, type: string): void => addParser(app, type, (text) => text);

const readJson = (text: string): unknown => (text === '' ? undefined : parseJson(text));

/** What the route takes, if it is described. */
const bodyOf = ({ routeOptions: { config } }: FastifyRequest) => config.operation?.body;

/** A command that names no content type sends its JSON as one, too. @throws {RequestError} `invalid_request`. */
export function refuseFormForJson(request: FastifyRequest): void {
  const body = bodyOf(request);
  if (body !== undefined && !body.form)
    throw invalidRequest(
      'The body was sent as a form, and this endpoint takes JSON. Send it with Content-Type: application/json.',
    );
}

const jsonForForm =
  'The body was sent as JSON, and this endpoint takes a form. Send its parameters with Content-Type: application/x-www-form-urlencoded.';

/** Decoded leniently, different bytes would become the same replacement character (RFC 8259 §8.1). */
function readText(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalidRequest('The body is not valid UTF-8. Nothing was changed.');
  return bytes.toString('utf8');
}

/** None of our bodies has more than five levels; recursive code, also in libraries, would overflow the stack. */
const maxDepth = 32;

function parseJson(text: string): unknown {
  // PostgreSQL stores no NUL in a text.
  if (/\\u0000|\0/.test(text)) throw invalidRequest('The body contains a NUL character.');
  let body: unknown;
  try {
    body = JSON.parse(text.replace(/^\ufeff/, '')); // RFC 8259 §8.1 lets a byte order mark be ignored
  } catch (error) {
    throw invalidRequest('The body is not valid JSON.', error);
  }
  const problem = problemIn(body);
  if (problem !== undefined) throw invalidRequest(problem);
  return body;
}

function problemIn(body: unknown): string | undefined {
  let level: unknown[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return `The body is nested more than ${maxDepth} levels deep.`;
    // Stored, each unpaired surrogate would become the same replacement character.
    if (level.some((value) => typeof value === 'string' && !value.isWellFormed())) {
      return 'The body contains an unpaired surrogate.';
    }
    const objects = level.filter((value): value is object => typeof value === 'object' && value !== null);
    if (objects.some(namesPrototype)) {
      return 'The body has a member __proto__ or constructor.prototype, and neither is accepted as a name.';
    }
    level = objects.flatMap((value) => (Array.isArray(value) ? value : Object.entries(value).flat()));
  }
  return undefined;
}

/** Merged into another object, it would change the prototype of that. */
const namesPrototype = (value: object & { constructor?: unknown }): boolean =>
  Object.hasOwn(value, '__proto__') ||
  (Object.hasOwn(value, 'constructor') &&
    typeof value.constructor === 'object' &&
    value.constructor !== null &&
    Object.hasOwn(value.constructor, 'prototype'));
