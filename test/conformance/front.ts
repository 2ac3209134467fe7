import { once } from 'node:events';
import { request as ask, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { selfSignedCertificate } from '../support/certificate.ts';
import { challengeOf, verifier } from '../support/relying-party.ts';

/** Of TLS 1.2 what BCP 195 recommends, as docs/reverse-proxy.md has it, and TLS 1.3. */
const ciphers =
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384';

/** `addsPkce`: to requests without it. */
export type Front = { url: string; certificate: string; port: number; addsPkce: boolean };

/**
 * The proxy with TLS that stands before Signet. The plans of OpenID Connect know no PKCE, so it can add one and the same to requests that
 * have none: whatever else they find is Signet's.
 */
export async function openFront(t: TestContext): Promise<Front> {
  const { key, cert } = selfSignedCertificate(['localhost']);
  const front: Front = { url: '', certificate: cert, port: 0, addsPkce: false };
  const server = createServer({ key, cert, ciphers, minVersion: 'TLSv1.2' }, (incoming, outgoing) => {
    pass(incoming, outgoing, front).catch((error: Error) => outgoing.writeHead(502).end(error.message));
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  afterTest(t, () => {
    server.closeAllConnections();
    server.close();
  });
  front.url = `https://localhost:${(server.address() as AddressInfo).port}`;
  return front;
}

async function pass(incoming: IncomingMessage, outgoing: ServerResponse, { port, addsPkce }: Front): Promise<void> {
  const { method = 'GET', headers, url = '/' } = incoming;
  const [, path = '', query] = /^([^?]*)(?:\?(.*))?$/.exec(url) ?? [];
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
  const given = await text(incoming);
  const body = isForm && addsPkce ? withPkce(path, given) : given;
  const target = query === undefined ? path : `${path}?${addsPkce ? withPkce(path, query) : query}`;
  const sent = {
    ...headers,
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'https',
    ...(body !== '' && { 'content-length': String(Buffer.byteLength(body)) }),
  };
  const asked = ask({ port, host: 'localhost', method, path: target, headers: sent }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(outgoing);
  });
  asked.on('error', (error) => outgoing.headersSent || outgoing.writeHead(502).end(error.message));
  asked.end(body);
}

/** @returns the same text if it has PKCE, or needs none. */
function withPkce(path: string, form: string): string {
  const fields = new URLSearchParams(form);
  if (path === '/oauth/authorize' && !fields.has('request_uri') && !fields.has('code_challenge'))
    return `${form}&${new URLSearchParams({ code_challenge: challengeOf(verifier), code_challenge_method: 'S256' })}`;
  if (path === '/oauth/token' && fields.has('code') && !fields.has('code_verifier'))
    return `${form}&${new URLSearchParams({ code_verifier: verifier })}`;
  return form;
}
