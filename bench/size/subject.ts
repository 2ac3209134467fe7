import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { collect, freePort, stop } from '../child.ts';
import { basicAuthorization, type Contender, type Issued, user } from '../contender.ts';
import type { Address, Headers } from '../load.ts';
import { signIn } from '../people.ts';
import {
  approved,
  authorizeRequest,
  grantsOfClient,
  listening,
  newDataDir,
  pumpCodes,
  registerClient,
  runSignet,
  send,
  settings,
  spawnSignet,
} from '../signet.ts';

export type Subject = Awaited<ReturnType<typeof openSubject>>;

/** Of which codes are exchanged: enough for those of one measurement. */
const clientsOfCodes = 4;

/**
 * A Signet with a store of its own, and in it what each page and endpoint needs: an administrator who owns a few clients, has
 * signed in, used one of them and holds an entitlement; a service credential; a webhook that is switched off.
 */
export async function openSubject() {
  const dataDir = await newDataDir();
  const port = await freePort();
  const address: Address = { host: '127.0.0.1', port };
  const environment = settings(dataDir, port);
  const command = (...args: string[]) => runSignet(args, environment);
  let server: ChildProcess | undefined;
  let said = () => '';

  const subject = {
    address,
    path: join(dataDir, 'signet.db'),
    environment,
    /** @returns milliseconds until it has answered. */
    async start(): Promise<number> {
      const startedAt = performance.now();
      server = spawnSignet(['serve'], environment);
      said = collect(server);
      await listening(address, server, 5);
      return performance.now() - startedAt;
    },
    async stop(): Promise<void> {
      if (server) await stop(server);
      server = undefined;
    },
    async remove(): Promise<void> {
      await subject.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
    command,
    /** The last that the server has logged: at the levels `warn` and above. */
    said: () => said(),
  };
  try {
    await subject.start();
    return Object.assign(subject, await prepare());
  } catch (error) {
    await subject.remove();
    throw error;
  }

  async function prepare() {
    const password = randomBytes(18).toString('base64url');
    await runSignet(
      ['users', 'create', '--email', user.email, '--name', user.name, '--admin', '--verified', '--password-stdin'],
      environment,
      password,
    );
    const cookie = await signIn(address, password);
    const client = await registerClient(address, cookie);
    const others = await Promise.all(Array.from({ length: clientsOfCodes }, () => registerClient(address, cookie)));
    const other = others[0]!;
    const clients = [client, ...others];
    const post = (path: string, body: unknown) => send(address, path, { cookie }, body);
    // By command: an administrator may not approve a client of their own.
    for (const { client_id } of clients) await command('clients', 'approve', client_id, '--revision', '1');
    for (const { client_id } of clients) await approved(address, authorizeRequest(address, cookie, client_id));
    const { user_id } = (await send(address, '/v1/me', { cookie })) as { user_id: string };
    const service = (await post('/v1/admin/service-credentials', {
      name: 'Billing',
      permissions: ['entitlements:write', 'tokens:introspect'],
      products: ['signet'],
    })) as { client_id: string; client_secret: string };
    const webhook = (await post('/v1/admin/webhooks', {
      url: 'https://hooks.example/signet',
      event_types: ['client.registered'],
    })) as { webhook_id: string };
    await post(`/v1/admin/webhooks/${webhook.webhook_id}/disable`, {});
    await writeEntitlement(address, basicAuthorization(service.client_id, service.client_secret), user_id, 1);
    const contender: Contender = {
      name: 'signet',
      address,
      pid: server!.pid!,
      // Grants that are used later are not pushed out by those that are only exchanged.
      codes: async (count, _use, areKept) => {
        const issued: Issued[] = [];
        for (const { client_id, client_secret } of areKept ? [client] : others) {
          if (issued.length === count) break;
          const part = Math.min(grantsOfClient, count - issued.length);
          const basic = basicAuthorization(client_id, client_secret);
          const codes = await pumpCodes(address, authorizeRequest(address, cookie, client_id), part);
          issued.push(...codes.map((text) => ({ text, basic })));
        }
        return issued;
      },
      stop: subject.stop,
    };
    /** The cookie of a new session: some pages want a recent sign-in. */
    const newCookie = () => signIn(address, password);
    return { newCookie, client, other, service, user_id, webhook, contender };
  }
}

/** A write of the back end, as its own request. */
export const writeEntitlement = (address: Address, basic: Headers, user_id: string, version: number) =>
  send(address, '/v1/entitlements', basic, {
    ...{ user_id, product: 'signet', plan: 'pro', status: 'active', source: 'bench', version },
  });
