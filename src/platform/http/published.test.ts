import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import type { TraceSettings } from '../tracing.ts';
import { publishedDocuments } from './published.ts';
import { publicDocument } from './representations.ts';

const path = '/.well-known/jwks.json';
const config: Parameters<typeof publishedDocuments>[0] = {
  baseUrl: 'http://localhost:3000',
  secure: false,
  hasMetrics: false,
  logRequests: false,
  traces: undefined,
};
const app = { get: () => app } as unknown as FastifyInstance;

async function publishing(changes: Partial<typeof config> = {}) {
  const published = publishedDocuments({ ...config, ...changes });
  const document = publicDocument({ keys: [] });
  published.publish(app, path, { id: 'readKeySet', tag: 'OIDC', summary: '', answers: {} }, () => document);
  const answers = (request: Partial<IncomingMessage> = {}): number | undefined => {
    let status: number | undefined;
    const response = {
      writeHead(given: number) {
        status = given;
        return { end: () => undefined };
      },
    } as unknown as ServerResponse;
    const asked = { method: 'GET', url: path, httpVersionMajor: 1, headers: {}, rawHeaders: [], ...request };
    const isAnswered = published.answer(asked as unknown as IncomingMessage, response);
    assert.equal(isAnswered, status !== undefined);
    return status;
  };
  return { answers, compress: () => document.forms.compressed() };
}

test('an ordinary request for a published document is answered before the routes', async () => {
  const { answers, compress } = await publishing();
  assert.equal(answers(), undefined); // the route compresses it first
  await compress();
  assert.equal(answers(), 200);
  assert.equal(answers({ headers: { 'accept-encoding': 'br' } }), 200);
});

test('any other request is left to its route, and so is every one that is counted, logged or traced', async () => {
  const { answers, compress } = await publishing();
  await compress();
  const others: Partial<IncomingMessage>[] = [
    { method: 'HEAD' },
    { method: 'OPTIONS' },
    { url: `${path}?` },
    { url: '/.well-known' },
    { headers: { 'if-none-match': '"x"' } },
    { headers: { 'content-length': '0' } },
    { headers: { 'transfer-encoding': 'chunked' } },
    { rawHeaders: ['Host', 'a', 'host', 'b'] },
    { httpVersionMajor: 0 },
  ];
  for (const other of others) assert.equal(answers(other), undefined, JSON.stringify(other));
  const traces = { sampler: undefined, samplerArgument: undefined, batch: {} } as TraceSettings;
  for (const observed of [{ hasMetrics: true }, { logRequests: true }, { traces }]) {
    const one = await publishing(observed);
    await one.compress();
    assert.equal(one.answers(), undefined);
  }
});
