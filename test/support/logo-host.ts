import type { TestContext } from 'node:test';
import { internalAddresses, openDocumentServer } from './document-server.ts';
import { pngOf } from './pictures.ts';
import type { Signet } from './signet.ts';

/** The environment of a server that can reach the host. */
export const reachesLogos = internalAddresses;

/** Where clients say that their logos are. A logo must be on a host with a public name, and a test has none. */
export const logoHost = 'https://logos.rp.test';

/**
 * What is at {@link logoHost}, for one server: its requests go through the guard to a server of this machine, or to another address where
 * the test says so.
 */
export async function openLogoHost(t: TestContext, signet: Signet) {
  const server = await openDocumentServer(t);
  const asked: string[] = [];
  const elsewhere = new Map<string, string>();
  const { outbound } = signet.deps;
  const send = outbound.send;
  outbound.send = (request) => {
    if (!request.url.startsWith(`${logoHost}/`)) return send(request);
    const path = request.url.slice(logoHost.length);
    asked.push(path);
    return send({ ...request, url: elsewhere.get(path) ?? server.urlOf('app', path) });
  };
  return {
    /** The paths that were asked for, in order. */
    asked,
    give: (path: string, given: Parameters<typeof server.give>[1]) => server.give(server.urlOf('app', path), given),
    givePicture: (path: string, content: Buffer = logoOf(64)) =>
      server.give(server.urlOf('app', path), { headers: { 'content-type': 'image/png' }, body: content }),
    /** As if the name led there. */
    leadTo: (path: string, url: string) => void elsewhere.set(path, url),
    urlOf: server.urlOf,
  };
}

/** @param side of the square, in pixels. */
export const logoOf = (side: number): Buffer => pngOf({ width: side, height: side });
