import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { newKey, startIssuer } from './fake-issuer.ts';
import { installedPackage, packageFolder, root, run } from './installed-package.ts';

const program = `
  import assert from 'node:assert/strict';
  import { createVerifier, TokenError } from '@signet/verify';
  import { bearerAuth as express } from '@signet/verify/express';
  import { bearerAuth as fastify } from '@signet/verify/fastify';
  import { bearerAuth as hono } from '@signet/verify/hono';

  const [issuer, audience, now, token] = process.argv.slice(2);
  const verify = createVerifier({ issuer, audience, now: () => Number(now) });
  for (const adapter of [express, fastify, hono]) assert.equal(typeof adapter(verify).requireScope('x'), 'function');
  await assert.rejects(verify(token + 'x'), TokenError);
  const internal = '@signet/verify/dist/verifier.js';
  await assert.rejects(import(internal), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' });
  console.log((await verify(token, { scope: 'orders:read' })).sub);
`;

const typedProgram = `
  import { type AccessTokenClaims, createVerifier, TokenError, type TokenErrorCode, type Verifier } from '@signet/verify';
  import { bearerAuth as forExpress, protectedResource } from '@signet/verify/express';
  import { bearerAuth as forFastify, protectedResource as plugin } from '@signet/verify/fastify';
  import { type AuthEnv, bearerAuth as forHono, protectedResource as answering } from '@signet/verify/hono';
  import express from 'express';
  import { fastify } from 'fastify';
  import { Hono } from 'hono';

  const verify: Verifier = createVerifier({
    issuer: 'https://id.example.com',
    audience: ['cl_app'],
    algorithms: ['EdDSA'],
    fetch,
    dpop: { publicUrl: 'https://api.example.com', usedProofs: { use: async (key: string, expiresAt: number) => key !== '' } },
    metadata: { resource: 'https://api.example.com', scopes_supported: ['orders:read'], resource_name: 'Orders' },
    introspection: { clientId: 'sc_1', clientSecret: 's', whenUnavailable: 'accept' },
  });
  export async function subjectOf(token: string): Promise<string> {
    try {
      const { sub, acr, aud }: AccessTokenClaims = await verify(token, { scope: ['a', 'b'], introspect: false });
      const optional: string | undefined = acr;
      const audience: string | string[] = aud;
      return sub + optional + audience;
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      const code: TokenErrorCode = error.code;
      const status: 400 | 401 | 403 | 503 = error.status;
      return code + status + error.wwwAuthenticate;
    }
  }

  type Query = { Querystring: { page: number }; Params: { id: string } };
  const { requireScope, requireToken } = forFastify(verify);
  const app = fastify();
  app.register(plugin(verify));
  app.addHook('onRequest', requireToken);
  app.get<Query>('/orders/:id', { onRequest: [requireToken, requireScope('orders:read')] }, async (request) => {
    const { page } = request.query;
    return { sub: request.auth?.sub, page };
  });

  const onExpress = forExpress(verify);
  express()
    .use(protectedResource(verify))
    .use(onExpress.requireToken)
    .get('/', onExpress.requireScope('orders:read', 'openid'), onExpress.requireMaxAge(60), (req, res) => {
      const sub: string | undefined = req.auth?.sub;
      res.json({ sub });
    });

  const onHono = forHono(verify);
  new Hono<AuthEnv>().use(onHono.requireToken).get('/', (c) => c.text(c.get('auth').sub));
  new Hono().use(answering(verify)).get('/', onHono.requireAcr('urn:signet:acr:2fa')).get('/', onHono.requireScope('orders:read'), (c) => c.text(c.get('auth').sub));

  export const mistakes = [
    // WRONG: no audience
    () => createVerifier({ issuer: 'https://id.example.com' }),
    // WRONG: no such algorithm
    () => createVerifier({ issuer: 'https://id.example.com', audience: 'cl_app', algorithms: ['HS256'] }),
    // WRONG: it may be missing
    (request: express.Request): string => request.auth.sub,
    // WRONG: no store of proofs
    () => createVerifier({ issuer: 'https://id.example.com', audience: 'cl_app', dpop: { usedProofs: new Map() } }),
    // WRONG: a number
    () => verify(1),
  ];
`;

test('the published package works in a project without TypeScript, and its types in one with it', async (t) => {
  const { project, files } = await installedPackage(t);

  await t.test('it contains plain JavaScript and types, nothing else, and brings only jose along', async () => {
    const names = ['algorithms', 'audience', 'authorization', 'challenge', 'claims', 'compact-jws', 'dpop', 'express'];
    names.push('fastify', 'fetch-json', 'guard', 'hono', 'index', 'introspection', 'issuer', 'kept', 'key-set');
    names.push('requirements', 'resource-metadata', 'scopes', 'signed-token', 'status-list', 'token-error');
    names.push('used-proofs', 'verifier');
    const built = names.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
    assert.deepEqual(files, ['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json', ...built].sort());
    const lock = JSON.parse(await readFile(join(project, 'package-lock.json'), 'utf8'));
    const packages = Object.keys(lock.packages).filter((path) => path !== '');
    assert.deepEqual(packages, ['node_modules/@signet/verify', 'node_modules/jose']);
    const manifest = await readFile(join(project, 'node_modules/@signet/verify/package.json'), 'utf8');
    const { sideEffects, license, engines } = JSON.parse(manifest);
    assert.deepEqual([sideEffects, license, engines], [false, 'Apache-2.0', { node: '>=20' }]);
    assert.equal(await readFile(join(packageFolder, 'LICENSE'), 'utf8'), await readFile(join(root, 'LICENSE'), 'utf8'));
  });

  await t.test('a program uses it', async (t) => {
    const issuer = await startIssuer(t, { keys: [await newKey('ed')] });
    await writeFile(join(project, 'main.js'), program);
    const args = [issuer.url, 'cl_app', String(issuer.options.now()), await issuer.sign()];
    const { stdout } = await run('node', ['--no-strip-types', 'main.js', ...args], { cwd: project });
    assert.equal(stdout, 'usr_1\n');
  });

  await t.test('the compiler accepts what is right, and finds each mistake', async () => {
    for (const name of ['express', 'fastify', 'hono', '@types']) {
      await symlink(join(root, 'node_modules', name), join(project, 'node_modules', name));
    }
    await writeFile(join(project, 'main.ts'), typedProgram);
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const tsc = join(root, 'node_modules/.bin/tsc');
    const found = await run(tsc, [...options, 'main.ts'], { cwd: project }).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
    const lines = typedProgram.split('\n');
    const wrong = lines.flatMap((line, index) => (line.includes('// WRONG') ? [index + 2] : []));
    const reported = [...found.matchAll(/^(\S+?)\((\d+),\d+\): error/gm)].map(([, file, line]) => `${file}:${line}`);
    assert.deepEqual(
      [...new Set(reported)],
      wrong.map((line) => `main.ts:${line}`),
      found,
    );
  });
});

test('it imports nothing of Node, and frameworks for their types only', async () => {
  for (const path of globSync('src/*.ts', { cwd: packageFolder })) {
    const text = await readFile(join(packageFolder, path), 'utf8');
    for (const [statement, , name] of text.matchAll(/^import (type )?[^;]*from '([^.'][^']*)';/gm)) {
      assert.ok(name === 'jose' || statement.startsWith('import type '), `${path}: ${statement}`);
    }
    assert.doesNotMatch(text, /'node:|\bprocess\.|\bBuffer\b|\brequire\(/, path);
  }
});
