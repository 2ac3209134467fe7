import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { selfSignedCertificate } from './certificate.ts';

type Given = {
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: unknown;
  /** Never answers. */
  holds?: boolean;
  /** Never ends its answer. */
  stalls?: boolean;
};

/** An https server of several hosts, `NAME.localhost`, that this process trusts, and the documents that it gives by host and path. */
export type DocumentServer = {
  urlOf(name: string, path?: string): string;
  give(url: string, given: Given): void;
  /** The URLs that were asked for, in order. */
  readonly asked: string[];
  /** Ends what it holds. */
  drop(): void;
};

/** A server that reads from it needs `SIGNET_WEBHOOK_INTERNAL`, as {@link internalAddresses} has it. */
export const internalAddresses = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1,::1' };

const names = ['app', 'other', 'third', 'fourth', 'fifth'] as const;

let made: ReturnType<typeof selfSignedCertificate> | undefined;

/** One for the process, which trusts it to its end: tests run beside each other, and nobody else has the key. */
function certificate() {
  if (made === undefined) {
    made = selfSignedCertificate(names.map((name) => `${name}.localhost`));
    setDefaultCACertificates([...getCACertificates('default'), made.cert]);
  }
  return made;
}

export async function openDocumentServer(t: TestContext): Promise<DocumentServer> {
  const { key, cert } = certificate();
  const documents = new Map<string, Given>();
  const asked: string[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    const url = `https://${request.headers.host}${request.url}`;
    asked.push(url);
    const { status = 200, headers = {}, body = '', holds, stalls } = documents.get(url) ?? { status: 404 };
    if (holds) return;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    if (stalls) return void response.write(body);
    response.end(typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (name, path = '/client.json') => `https://${name}.localhost:${port}${path}`,
    give: (url, given) => void documents.set(url, given),
    asked,
    drop: () => server.closeAllConnections(),
  };
}

/** The document of a public client, whose redirect URI is at the host of its URL. */
export const documentOf = (client_id: string, changes: object = {}) => ({
  client_id,
  client_name: 'Notes',
  redirect_uris: [new URL('/cb', client_id).href],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
  ...changes,
});
