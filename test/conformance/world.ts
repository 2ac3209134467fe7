import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import tls from 'node:tls';
import { newBrowser } from '../support/browser.ts';
import { type KeyPair, keySetOf } from '../support/client-keys.ts';
import { succeed } from '../support/command-line.ts';
import { fullProfile } from '../support/full-profile.ts';
import { scratchFolder } from '../support/scratch.ts';
import { bareSettings, type Settings, startServer } from '../support/server-process.ts';
import { type Front, openFront } from './front.ts';
import { subjectOfSuite } from './plans.ts';
import type { Json } from './suite.ts';

// A Signet of its own process, with what the plans need in it, set up by its commands and as its users would.

type Credentials = { client_id: string; client_secret: string };
/** `keys`: for private_key_jwt; `more`: what is said beside to `clients create`. */
type ClientOptions = {
  alg?: 'EdDSA' | 'RS256';
  keys?: KeyPair;
  profile?: 'fapi2';
  publicClient?: boolean;
  more?: readonly string[];
};

export type World = {
  front: Front;
  /** Of the suite, with a slash at its end. */
  suite: string;
  person: Person;
  /** A first-party client of the plan with this alias, as a configuration of the suite has it. */
  register(alias: string, options?: ClientOptions): Promise<Json>;
  /** A service credential that may have an event stream. @returns its token. */
  receiverToken(): Promise<string>;
  /** What sends each event that a stream of the CAEP Interoperability Profile is about. */
  causeSignals(): Promise<void>;
};

export type Person = { user_id: string; email: string; password: string };

export async function openWorld(t: TestContext, suite: string, suiteCertificate: string | undefined): Promise<World> {
  const front = await openFront(t);
  const bare = await bareSettings(t);
  const env: Settings = {
    ...bare,
    SIGNET_BASE_URL: front.url,
    SIGNET_TRUST_PROXY: '1',
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1/128',
    ...(suiteCertificate !== undefined && { NODE_EXTRA_CA_CERTS: suiteCertificate }),
  };
  await succeed(['migrate'], env);
  const server = await startServer(t, env);
  front.port = Number(bare.SIGNET_PORT);
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), front.certificate]);

  const signIn = async ({ email, password }: Person) => {
    const browser = newBrowser(server.url);
    const headers = { origin: front.url };
    const { status, text } = await browser.post('/signin', { username: email, password }, headers);
    assert.equal(status, 303, text);
    const send = async (method: string, path: string, body: Json) => {
      const sent = { method, body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } };
      const answer = await browser.send(path, sent);
      assert.ok(answer.status === 200 || answer.status === 204, answer.text);
    };
    return { send, signOut: () => browser.post('/signout', {}, headers) };
  };

  let count = 0;
  const next = () => {
    count += 1;
    return count;
  };
  const newPerson = async (name: string, email = `ada${next()}@example.test`): Promise<Person> => {
    const password = 'quite some words in a row';
    const args = ['users', 'create', '--email', email, '--name', name, '--verified', '--password-stdin'];
    const { user_id } = (await succeed(args, env, password)) as { user_id: string };
    return { user_id, email, password };
  };
  const person = await newPerson('Ada King');
  await newPerson('Example User', subjectOfSuite);
  await (await signIn(person)).send('PATCH', '/v1/me', fullProfile);

  const folder = await scratchFolder('conformance');
  const register: World['register'] = async (alias, options = {}) => {
    const { alg = 'EdDSA', keys, profile, publicClient = false, more = [] } = options;
    const own = `${suite}test/a/${alias}`;
    const scope = 'openid profile email offline_access';
    const file = join(folder, `${next()}.json`);
    if (keys !== undefined) await writeFile(file, JSON.stringify(keySetOf(keys)));
    const args = [
      ...['clients', 'create', '--name', `Client of ${alias}`, '--approve'],
      ...['--alg', alg, '--claims-in-id-token', 'off', '--scope', scope],
      ...['--redirect-uri', `${own}/callback ${own}/callback?dummy1=lorem&dummy2=ipsum`],
      ...['--post-logout-redirect-uri', `${own}/post_logout_redirect`],
      ...(publicClient ? ['--public'] : []),
      ...(keys === undefined ? [] : ['--auth-method', 'private_key_jwt', '--jwks', file]),
      ...more,
    ];
    const { client_id, client_secret } = (await succeed(args, env)) as Credentials;
    if (profile !== undefined) await succeed(['clients', 'policy', client_id, '--profile', profile], env);
    const jwk = keys && {
      ...keys.privateKey.export({ format: 'jwk' }),
      alg: keys.alg,
      kid: keys.kid,
      use: 'sig',
    };
    return {
      client_id,
      scope,
      ...(client_secret && { client_secret }),
      ...(jwk && { jwks: { keys: [jwk] }, dpop_signing_alg: 'ES256' }),
    };
  };

  return {
    front,
    suite,
    person,
    register,
    async receiverToken() {
      const args = ['service-credentials', 'create', '--name', 'Receiver', '--permission', 'signals:manage'];
      const { client_id, client_secret } = (await succeed(args, env)) as Credentials;
      return `${client_id}.${client_secret}`;
    },
    async causeSignals() {
      const somebody = await newPerson('Somebody');
      const { send } = await signIn(somebody);
      await send('POST', '/v1/me/password', { password: 'quite other words in a row' });
      await (await signIn({ ...somebody, password: 'quite other words in a row' })).signOut();
    },
  };
}
