import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { connect, getCiphers } from 'node:tls';
import { afterTest } from '../support/after-test.ts';
import { freePort } from '../support/free-port.ts';
import type { Settings } from '../support/server-process.ts';
import { until } from '../support/until.ts';

const nginx = process.env.NGINX ?? 'nginx';
const caddy = process.env.CADDY ?? 'caddy';

export const hasNginx = (): boolean => spawnSync(nginx, ['-v']).status === 0;
export const hasCaddy = (): boolean => spawnSync(caddy, ['version']).status === 0;

type Answer = { status: number; headers: IncomingHttpHeaders; body: string };
/** `settings`: those that the site asks for. `certificate`: the file of the authority that a client has to trust. */
export type Proxy = {
  base: string;
  settings: Settings;
  certificate: string;
  ask(path: string, options?: RequestOptions, body?: string): Promise<Answer>;
};

/** Of localhost. */
function makeCertificate(home: string): { key: string; certificate: string } {
  const [key, certificate] = [join(home, 'privkey.pem'), join(home, 'fullchain.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], { stdio: 'ignore' });
  return { key, certificate };
}

function askAt(base: string, certificate: string): Proxy['ask'] {
  const ca = readFileSync(certificate);
  return (path, options = {}, body = '') =>
    new Promise<Answer>((resolve, reject) => {
      const asked = request(new URL(path, base), { ca, agent: false, ...options }, async (answer) =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }),
      );
      asked.on('error', reject).end(body);
    });
}

/** `deploy/nginx.conf` on ports of its own, with a certificate for localhost. @param port of Signet. */
export async function startNginx(t: TestContext, home: string, port: number): Promise<Proxy> {
  const [tls, plain] = [await freePort(), await freePort()];
  const base = `https://localhost:${tls}`;
  const { certificate } = makeCertificate(home);
  const site = readFileSync(join(import.meta.dirname, '../../deploy/nginx.conf'), 'utf8');
  const changed = site
    .replaceAll('/etc/letsencrypt/live/id.example.com', home)
    .replaceAll('id.example.com', 'localhost')
    .replace('127.0.0.1:3000', `127.0.0.1:${port}`)
    .replace('listen 443', `listen 127.0.0.1:${tls}`)
    .replace('listen 80', `listen 127.0.0.1:${plain}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${home}/${name};`,
  );
  const whole = `pid ${home}/pid; error_log ${home}/error.log; events {} http { access_log off; ${temporary.join(' ')}\n${changed} }`;
  const file = join(home, 'nginx.conf');
  writeFileSync(file, whole);
  const settings = Object.fromEntries(
    ['SIGNET_BASE_URL', 'SIGNET_HOST', 'SIGNET_TRUST_PROXY'].map((name) => [
      name,
      name === 'SIGNET_BASE_URL' ? base : (new RegExp(`${name}=(\\S+)`).exec(site)?.[1] ?? assert.fail(name)),
    ]),
  );
  const proxy = spawn(nginx, ['-e', join(home, 'error.log'), '-p', home, '-c', file, '-g', 'daemon off;']);
  afterTest(t, () => proxy.kill('SIGTERM')); // which ends its workers, too
  await until('nginx has started', () => existsSync(join(home, 'pid')));

  return { base, settings, certificate, ask: askAt(base, certificate) };
}

/** RFC 9325 §4.2, as OpenSSL names them. */
const recommendedCiphers = /^ecdhe-(?:ecdsa|rsa)-aes(?:128-gcm-sha256|256-gcm-sha384)$/;

/** @returns of the ciphers of TLS 1.2 that the server at this address accepts, those that BCP 195 does not recommend. */
export async function unrecommendedCiphers(base: string): Promise<string[]> {
  const { hostname, port } = new URL(base);
  const version = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const;
  const isAccepted = (cipher: string) =>
    new Promise<boolean>((resolve) => {
      const ciphers = `${cipher.toUpperCase()}:@SECLEVEL=0`;
      const address = { host: hostname, servername: hostname, port: Number(port) };
      const socket = connect({ ...address, rejectUnauthorized: false, ciphers, ...version });
      socket.on('secureConnect', () => resolve(true)).on('error', () => resolve(false));
      socket.on('secureConnect', () => socket.destroy());
    });
  const known = getCiphers().filter((name) => !name.startsWith('tls_'));
  const accepted = (await Promise.all(known.map(async (name) => ((await isAccepted(name)) ? [name] : [])))).flat();
  assert.ok(accepted.some((name) => recommendedCiphers.test(name)));
  return accepted.filter((name) => !recommendedCiphers.test(name));
}

/** The same with the site that docs/reverse-proxy.md has for Caddy. */
export async function startCaddy(t: TestContext, home: string, port: number): Promise<Proxy> {
  const base = `https://localhost:${await freePort()}`;
  const { key, certificate } = makeCertificate(home);
  const page = readFileSync(join(import.meta.dirname, '../../docs/reverse-proxy.md'), 'utf8');
  const [, site = ''] = /```caddyfile\n(id\.example\.com [\s\S]*?)```/.exec(page) ?? [];
  const changed = site
    .replace('id.example.com {', `${base} {\n\ttls ${certificate} ${key}`)
    .replace('127.0.0.1:3000', `127.0.0.1:${port}`);
  const file = join(home, 'Caddyfile');
  writeFileSync(file, `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${changed}`);
  const proxy = spawn(caddy, ['run', '--config', file], { env: { HOME: home }, stdio: 'ignore' });
  afterTest(t, () => proxy.kill('SIGTERM'));
  const ask = askAt(base, certificate);
  await until('it listens', () =>
    ask('/').then(
      () => true,
      () => false,
    ),
  );
  const settings = { SIGNET_BASE_URL: base, SIGNET_HOST: '127.0.0.1', SIGNET_TRUST_PROXY: '1' };
  return { base, settings, certificate, ask };
}
