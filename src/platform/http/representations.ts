import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

type Coding = 'br' | 'gzip';
export type Representation = {
  readonly body: Buffer | string;
  readonly etag: string;
  readonly coding: Coding | undefined;
};

type Representations = ReturnType<typeof representations>;

/** What fits into one packet arrives no sooner for being smaller. */
const minBytes = 1400;

/**
 * Public bytes, plain and compressed. Nothing else is compressed: the length of a page would reveal which part of an
 * attacker's text equals a secret in it (BREACH, https://breachattack.com).
 * @param given Node sends a short text in one packet with its headers, but not a buffer.
 */
export function representations(given: Buffer | string) {
  const content = Buffer.from(given);
  const digest = hash('sha256', content, 'base64url');
  // Of a longer text, Node would make a copy for each connection whose client does not read.
  const plain: Representation = {
    body: content.length < minBytes ? given : content,
    etag: `"${digest}"`,
    coding: undefined,
  };
  let compressed: Promise<readonly Representation[]> | undefined;
  let ready: readonly Representation[] | undefined;
  return {
    plain,
    /** What {@link compressed} resolves to, once it has. */
    get ready() {
      return ready;
    },
    /** The smallest first; compressed at the first request, on the thread pool. */
    compressed() {
      compressed ??= (content.length < minBytes ? Promise.resolve([]) : compress(content, digest)).then(
        (all) => (ready = all),
      );
      return compressed;
    },
  };
}

async function compress(content: Buffer, digest: string): Promise<readonly Representation[]> {
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    promisify(gzip)(content, { level: 9 }),
  ]);
  const all: Representation[] = [
    { body: br, etag: `"${digest}-br"`, coding: 'br' },
    { body: gz, etag: `"${digest}-gzip"`, coding: 'gzip' },
  ];
  return all.filter(({ body }) => body.length < content.length); // a picture is compressed already
}

/** Answers with the smallest accepted representation, or with 304. The caller sets `cache-control`. */
export async function sendRepresentation(
  request: FastifyRequest,
  reply: FastifyReply,
  { plain, compressed }: Representations,
  type: string,
): Promise<FastifyReply> {
  const smaller = await compressed();
  const { body, etag, coding } = representationFor(request.headers, plain, smaller);
  if (smaller.length > 0) reply.header('vary', 'accept-encoding');
  reply.header('etag', etag);
  const known = request.headers['if-none-match'];
  if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)) return reply.code(304).send();
  if (coding !== undefined) reply.header('content-encoding', coding);
  return reply.type(type).send(body);
}

/** @returns the first of `smaller` that the client accepts. */
export function representationFor(
  { 'accept-encoding': header }: IncomingHttpHeaders,
  plain: Representation,
  smaller: readonly Representation[],
): Representation {
  if (header === undefined) return plain;
  const accepted = acceptedCodings(header);
  return smaller.find(({ coding }) => coding !== undefined && accepted(coding)) ?? plain;
}

/** RFC 9110 §12.5.3. Malformed entries are ignored. */
function acceptedCodings(header: string | string[]): (coding: Coding) => boolean {
  const accepted = new Map<string, boolean>();
  for (const entry of String(header).split(',', 20)) {
    const [, name, quality = '1'] =
      /^\s*([\w*-]+)\s*(?:;\s*q=(1(?:\.0{0,3})?|0(?:\.\d{0,3})?)\s*)?$/i.exec(entry) ?? [];
    if (name !== undefined) accepted.set(name.toLowerCase(), Number(quality) > 0);
  }
  return (coding) => accepted.get(coding) ?? accepted.get('*') ?? false;
}

export type PublicDocument = ReturnType<typeof publicDocument>;

export function publicDocument(value: unknown) {
  const body = JSON.stringify(value);
  const forms = representations(body);
  return { body, etag: forms.plain.etag, forms };
}

export const publicHeaders = {
  'cache-control': 'public, max-age=300',
  'content-type': 'application/json; charset=utf-8',
};

/** A document that anyone may read and cache for five minutes. */
export function sendPublicDocument(request: FastifyRequest, reply: FastifyReply, { forms }: PublicDocument) {
  reply.header('cache-control', publicHeaders['cache-control']);
  return sendRepresentation(request, reply, forms, publicHeaders['content-type']);
}
