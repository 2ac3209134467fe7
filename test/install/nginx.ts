import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { freePort } from '../support/free-port.ts';
import { type Settings, until } from '../support/server-process.ts';

const nginx = process.env.NGINX ?? 'nginx';

export const hasNginx = (): boolean => spawnSync(nginx, ['-v']).status === 0;

type Answer = { status: number; headers: IncomingHttpHeaders; body: string };
/** `settings`: those that the site asks for. `certificate`: the file of the authority that a client has to trust. */
export type Proxy = {
  base: string;
  settings: Settings;
  certificate: string;
  ask(path: string, options?: RequestOptions, body?: string): Promise<Answer>;
};

/** `deploy/nginx.conf` on ports of its own, with a certificate for localhost. @param port of Signet. */
export async function startNginx(t: TestContext, home: string, port: number): Promise<Proxy> {
  const [tls, plain] = [await freePort(), await freePort()];
  const base = `https://localhost:${tls}`;
  const [key, certificate] = [join(home, 'privkey.pem'), join(home, 'fullchain.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const files = ['-keyout', key, '-out', certificate];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], { stdio: 'ignore' });
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
  await until(() => existsSync(join(home, 'pid')));

  const ca = readFileSync(certificate);
  const ask = (path: string, options: RequestOptions = {}, body = '') =>
    new Promise<Answer>((resolve, reject) => {
      const asked = request(new URL(path, base), { ca, agent: false, ...options }, async (answer) =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) }),
      );
      asked.on('error', reject).end(body);
    });
  return { base, settings, certificate, ask };
}
