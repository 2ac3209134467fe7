import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

type Coding = 'br' | 'gzip';
type Representation = { readonly body: Buffer | string; readonly etag: string; readonly coding: Coding | undefined };

/**
 * Bytes that are the same for everybody, as they are and compressed. Nothing else is compressed: the length of a page
 * would tell what of an attacker's text stands beside a secret in it (BREACH, https://breachattack.com).
 */
export type Representations = {
  readonly plain: Representation;
  /** The smallest first; compressed at the first request, on the thread pool. */
  compressed(): Promise<readonly Representation[]>;
};

/** What fits into one packet arrives no sooner for being smaller. */
const minBytes = 1400;

/** @param given text that is short leaves in one piece with its headers, which bytes do not. */
export function representations(given: Buffer | string): Representations {
  const content = Buffer.from(given);
  const digest = hash('sha256', content, 'base64url');
  let compressed: Promise<readonly Representation[]> | undefined;
  return {
    plain: { body: given, etag: `"${digest}"`, coding: undefined },
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
  const smaller: Representation[] = [
    { body: br, etag: `"${digest}-br"`, coding: 'br' as const },
    { body: gz, etag: `"${digest}-gzip"`, coding: 'gzip' as const },
  ];
  return smaller.filter(({ body }) => body.length < content.length); // a picture is compressed already
}

/** Answers with the smallest form that the reader takes, or with 304 if they have it. Caching is the caller's to say. */
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

/** RFC 9110 §12.5.3. What cannot be read is not accepted, and every reader takes the bytes as they are. */
function acceptedCodings(header: string | string[] | undefined): (coding: Coding) => boolean {
  const accepted = new Map<string, boolean>();
  for (const entry of String(header ?? '').split(',', 20)) {
    const [, name, quality = '1'] =
      /^\s*([\w*-]+)\s*(?:;\s*q=(1(?:\.0{0,3})?|0(?:\.\d{0,3})?)\s*)?$/i.exec(entry) ?? [];
    if (name !== undefined) accepted.set(name.toLowerCase(), Number(quality) > 0);
  }
  return (coding) => accepted.get(coding) ?? accepted.get('*') ?? false;
}

/** Bytes that are made once, and the tag by which a reader knows that it has them. */
export type PublicDocument = { readonly body: string; readonly etag: string; readonly forms: Representations };

export function publicDocument(value: unknown): PublicDocument {
  const body = JSON.stringify(value);
  const forms = representations(body);
  return { body, etag: forms.plain.etag, forms };
}

/** A document that anybody may read from anywhere and keep for five minutes. */
export function sendPublicDocument(request: FastifyRequest, reply: FastifyReply, { forms }: PublicDocument) {
  reply.headers({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' });
  return sendRepresentation(request, reply, forms, 'application/json; charset=utf-8');
}
