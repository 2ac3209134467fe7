import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

type Coding = 'br' | 'gzip';
type Representation = { readonly body: Buffer | string; readonly etag: string; readonly coding: Coding | undefined };

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
  const plain: Representation = { body: given, etag: `"${digest}"`, coding: undefined };
  let compressed: Promise<readonly Representation[]> | undefined;
  return {
    plain,
    /** The smallest first; compressed at the first request, on the thread pool. */
    compressed() {
      compressed ??= content.length < minBytes ? Promise.resolve([]) : compress(content, digest);
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
  const accepted = acceptedCodings(request.headers['accept-encoding']);
  const { body, etag, coding } = smaller.find(({ coding }) => coding !== undefined && accepted(coding)) ?? plain;
  if (smaller.length > 0) reply.header('vary', 'accept-encoding');
  reply.header('etag', etag);
  const known = request.headers['if-none-match'];
  if (known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag)) return reply.code(304).send();
  if (coding !== undefined) reply.header('content-encoding', coding);
  return reply.type(type).send(body);
}

/** RFC 9110 §12.5.3. Malformed entries are ignored. */
function acceptedCodings(header: string | string[] | undefined): (coding: Coding) => boolean {
  const accepted = new Map<string, boolean>();
  for (const entry of String(header ?? '').split(',', 20)) {
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

/** A document that anyone may read and cache for five minutes. */
export function sendPublicDocument(request: FastifyRequest, reply: FastifyReply, { forms }: PublicDocument) {
  reply.header('cache-control', 'public, max-age=300');
  return sendRepresentation(request, reply, forms, 'application/json; charset=utf-8');
}
