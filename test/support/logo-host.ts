import type { TestContext } from 'node:test';
import { deflateSync } from 'node:zlib';
import { fetchLogo } from '../../src/clients/fetch-logos.ts';
import { internalAddresses, openDocumentServer } from './document-server.ts';
import { pngFile } from './pictures.ts';
import { plain } from './plain-sql.ts';
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

/** A disc on nothing that a browser can draw. @param side of the square, in pixels. */
export function logoOf(side: number): Buffer {
  const rows = Buffer.alloc((side + 1) * side); // each begins with how it is coded: as it is
  const middle = (side - 1) / 2;
  for (let y = 0; y < side; y += 1) {
    for (let x = 0; x < side; x += 1)
      rows[y * (side + 1) + 1 + x] = Math.hypot(x - middle, y - middle) < middle ? 1 : 0;
  }
  return pngFile(side, side, 3, [
    ['PLTE', Buffer.from([255, 255, 255, 200, 60, 40])],
    ['IDAT', deflateSync(rows)],
  ]);
}

/** An approved client with a `logo_url` shows this picture, without a request to anyone. */
export async function giveLogo({ deps }: Signet, client_id: string, content = logoOf(128)): Promise<void> {
  const { outbound } = deps;
  const { send } = outbound;
  outbound.send = async () => ({ status: 200, headers: {}, body: content, isWhole: true });
  const { picture_id } = await fetchLogo(deps, client_id);
  outbound.send = send;
  // Without an event: logs are pictures of the documentation, too.
  await plain(deps.db).run(`update client_logos set stage = 'shown' where client_id = $1`, [client_id]);
  await plain(deps.db).run('update clients set logo_id = $1 where client_id = $2', [picture_id, client_id]);
  deps.clients.forget(client_id);
}
