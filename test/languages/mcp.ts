import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { snippetOf } from '../../src/clients/libraries/catalogue.ts';
import { startPresentSignet } from '../relying-parties/catalogue-client.ts';
import { mcpFolder, startProgram, startServer } from '../relying-parties/mcp-kit.ts';
import { newApi } from '../support/apis.ts';
import { freePort } from '../support/free-port.ts';
import { writeRecipe } from '../support/recipes.ts';
import { claimsOf } from '../support/relying-party.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';
import { isChosen, type McpProgram, mcpPrograms } from './cases.ts';
import { type Command, missingTool, pip, python, run, serve, unavailable } from './programs.ts';
import { UserAgent } from './user-agent.ts';

/*
 * Model Context Protocol in Python, and by mcp-remote: the servers of docs/resource-servers/mcp.md as they stand on the page, and the
 * snippets of the catalogue.
 *
 *     npm run test:clients -- --only mcp-remote
 */
const minutes = 60_000;

type Journey = {
  t: TestContext;
  signet: Signet;
  user: TestUser;
  folder: string;
  port: string;
  /** Of the MCP server, whose API is registered. */
  server: string;
  /** Public, with the scopes of that API. */
  client_id: string;
  redirect_uri: string;
};

type Case = {
  /** Commands that must be there. */
  tools?: readonly Command[];
  callback: string;
  prepare(folder: string): Promise<unknown>;
  run(journey: Journey): Promise<void>;
};

const npm =
  (...packages: string[]) =>
  async (cwd: string) => {
    await writeFile(join(cwd, 'package.json'), '{ "private": true }');
    await run('npm', ['install', '--no-audit', '--no-fund', '--no-save', ...packages], { cwd });
  };

/** Signs in at the address that a program shows, and allows what it asks for. @param rests the redirect URI, if nothing listens there. */
async function signIn({ user }: Journey, url: string, rests?: string): Promise<URL> {
  if (rests === undefined) {
    // mcp-remote shows the address before it listens.
    const callback = new URL(new URL(url).searchParams.get('redirect_uri') ?? '').origin;
    await until('the program listens', () => fetch(callback).then(Boolean, () => false));
  }
  const agent = new UserAgent();
  const page = await agent.submit(await agent.open(url), { username: user.email, password: user.password }, rests);
  return (await agent.submit(page, { decision: 'allow' }, rests)).url;
}

/** @returns what finds the next match in what a program says. */
function listenTo(output: Readable): (pattern: RegExp) => Promise<string> {
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  let all = '';
  return async (pattern) => {
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      all += `${line.value}\n`;
      const [found] = pattern.exec(line.value) ?? [];
      if (found !== undefined) return found;
    }
    return assert.fail(`it has ended:\n${all}`);
  };
}

const cases: Readonly<Record<McpProgram, Case>> = {
  'mcp-python-sdk': {
    tools: python,
    callback: 'http://127.0.0.1/callback',
    prepare: pip('mcp==2.3.0', 'uvicorn', 'pyjwt[crypto]==2.15.1'),
    async run(journey) {
      const { t, signet, user, folder, port, server, client_id, redirect_uri } = journey;
      await writeRecipe('pyjwt.md', folder);
      const env = { ...process.env, ISSUER: signet.url, AUDIENCE: server, PORT: port, PYTHONUNBUFFERED: '1' };
      await serve(t, ['venv/bin/python', 'server.py'], server, { cwd: folder, env });

      const values = { issuer: signet.url, client_id, redirect_uri, client_type: 'public', scope: '' } as const;
      const [snippet] = snippetOf('mcp-python-sdk', { ...values, post_logout_redirect_uri: '', algorithm: 'RS256' });
      const shown = snippet!.text.replace('https://mcp.example.com/mcp', server);
      const calling = shown.replace(
        /( +)for tool in [^\n]*\n[^\n]*/,
        '$1for again in (1, 2):\n$1    print((await client.call_tool("whoami")).content[0].text, flush=True)\n' +
          '$1    print(auth.context.current_tokens.access_token, flush=True)\n' +
          '$1    auth.context.token_expiry_time = 1',
      );
      assert.notEqual(calling, shown);
      await writeFile(join(folder, 'client.py'), calling);
      const program = spawn('venv/bin/python', ['client.py'], { cwd: folder, env });
      t.after(() => program.kill());
      let failed = '';
      program.stderr.on('data', (chunk) => (failed += chunk));
      const printed = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
      const next = async (): Promise<string> => (await printed.next()).value ?? assert.fail(failed);
      const answer = await signIn(journey, await next(), redirect_uri);
      program.stdin.end(`${answer.href}\n`);
      assert.equal(await next(), user.user_id);
      const first = claimsOf(await next());
      assert.deepEqual([first.aud, first.scope], [[client_id, server], 'notes:read offline_access']);
      assert.equal(await next(), user.user_id, 'once it has refreshed');
      assert.notEqual(claimsOf(await next()).jti, first.jti);
    },
  },
  'mcp-fastmcp': {
    tools: python,
    callback: 'http://127.0.0.1/callback',
    prepare: pip('fastmcp==4.2.3'),
    async run({ t, signet, user, folder, port, server, client_id, redirect_uri }) {
      const env = { ...process.env, ISSUER: signet.url, BASE_URL: new URL(server).origin, PORT: port };
      await serve(t, ['venv/bin/python', 'fast.py'], server, { cwd: folder, env });
      const program = await startProgram(signet, user, { url: server, folder }, { client_id, redirect_uri });
      assert.equal(await program.call('whoami'), user.user_id);
      assert.equal(program.opened.length, 1);
      const first = program.tokens;
      assert.deepEqual(claimsOf(first.access_token).aud, [client_id, server]);
      program.snippet.authProvider.saveTokens({ ...first, access_token: 'a.b.c' });
      assert.equal(await program.call('whoami'), user.user_id);
      assert.equal(program.opened.length, 1, 'it has refreshed');
    },
  },
  'mcp-remote': {
    callback: 'http://localhost/oauth/callback',
    prepare: async (folder) => {
      await mkdir(join(folder, 'remote'));
      await npm('mcp-remote@0.15.1')(join(folder, 'remote'));
    },
    async run(journey) {
      const { t, signet, user, folder, port, server, client_id, redirect_uri } = journey;
      await startServer(t, folder, signet.url, Number(port));
      const values = { issuer: signet.url, client_id, redirect_uri, client_type: 'public', scope: '' } as const;
      const [snippet] = snippetOf('mcp-remote', { ...values, post_logout_redirect_uri: '', algorithm: 'RS256' });
      const shown = JSON.parse(snippet!.text.replace('https://mcp.example.com/mcp', server));
      const [, ...args] = shown.mcpServers.example.args as string[];
      const start = async () => {
        const transport = new StdioClientTransport({
          command: process.execPath,
          args: [join(folder, 'remote/node_modules/mcp-remote/dist/proxy.js'), ...args],
          // Where it keeps tokens; and no browser.
          env: {
            PATH: process.env.PATH ?? '',
            HOME: folder,
            MCP_REMOTE_CONFIG_DIR: join(folder, 'kept'),
            BROWSER: 'true',
          },
          stderr: 'pipe',
        });
        const client = new Client({ name: 'editor', version: '1.0.0' });
        t.after(() => client.close());
        const next = listenTo(transport.stderr as Readable);
        const call = async (tool: string, given: Record<string, unknown> = {}) => {
          const { content } = await client.callTool({ name: tool, arguments: given });
          return (content as { text: string }[])[0]?.text;
        };
        return {
          call,
          connected: client.connect(transport),
          asked: () => next(/http:\/\/[^ ]+\/oauth\/authorize\?[^ ]+/),
          client,
        };
      };
      const first = await start();
      await signIn(journey, await first.asked());
      await first.connected;
      assert.equal(await first.call('list_notes'), '');
      const added = first.call('add_note', { note: 'milk' });
      const again = new URL(await first.asked());
      assert.equal(again.searchParams.get('scope'), 'notes:read offline_access notes:write');
      await signIn(journey, again.href);
      assert.equal(await added, `Added for ${user.user_id}`);
      await first.client.close();

      for (const file of globSync('kept/**/*_tokens.json', { cwd: folder })) {
        const kept = JSON.parse(await readFile(join(folder, file), 'utf8'));
        await writeFile(join(folder, file), JSON.stringify({ ...kept, access_token: 'a.b.c' }));
      }
      const second = await start();
      await second.connected;
      assert.equal(await second.call('list_notes'), 'milk', 'it has refreshed');
    },
  },
  /** The protocol's own suite for authorization servers. */
  'mcp-conformance': {
    callback: 'http://127.0.0.1/callback',
    prepare: async (folder) => {
      await mkdir(join(folder, 'suite'));
      await npm('@modelcontextprotocol/conformance@0.2.0-alpha.12')(join(folder, 'suite'));
    },
    async run(journey) {
      const { t, signet, folder, port, server, client_id } = journey;
      const command = join(folder, 'suite/node_modules/@modelcontextprotocol/conformance/dist/index.js');
      const args = [
        'authorization',
        '--url',
        signet.url,
        '--client-id',
        client_id,
        '--resource',
        server,
        '--port',
        port,
      ];
      const suite = spawn(process.execPath, [command, ...args], { cwd: folder });
      t.after(() => suite.kill());
      const ended = once(suite, 'exit');
      const next = listenTo(suite.stdout);
      await signIn(journey, await next(/http:\/\/\S+\/oauth\/authorize\?\S+/));
      const summary = await next(/^Total: .*/);
      t.diagnostic(summary);
      assert.match(summary, /^Total: 3 passed, 0 failed$/);
      assert.deepEqual((await ended)[0], 0);
    },
  },
};

for (const name of mcpPrograms.filter(isChosen)) {
  test(name, { timeout: 15 * minutes }, async (t) => {
    const { tools = [], callback, prepare, run } = cases[name];
    const missing = await missingTool(tools);
    if (missing !== undefined) return t.skip(missing);
    const folder = await mcpFolder(t);
    const unavailability = await unavailable(() => prepare(folder));
    if (unavailability !== undefined) return t.skip(unavailability);
    const signet = await startPresentSignet(t, { SIGNET_CLIENT_ID_METADATA: 'on' });
    const port = String(await freePort());
    const server = `http://127.0.0.1:${port}/mcp`;
    await newApi(signet, ['notes:read', 'notes:write'], server);
    const { client_id } = await signet.registerClient({
      client_type: 'public',
      application_type: 'native',
      redirect_uris: [callback],
      allowed_scopes: ['openid', 'offline_access', 'notes:read', 'notes:write'],
      id_token_signed_response_alg: 'RS256',
      consent: 'required',
    });
    const redirect_uri = callback.replace(/(localhost|127\.0\.0\.1)/, '$1:49152');
    await run({ t, signet, user: await signet.newUser(), folder, port, server, client_id, redirect_uri });
  });
}
