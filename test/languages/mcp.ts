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
import { approve, askForReview, mcpFolder, startProgram, startServer } from '../relying-parties/mcp-kit.ts';
import { newApi } from '../support/apis.ts';
import { documentOf, internalAddresses, openDocumentServer } from '../support/document-server.ts';
import { freePort } from '../support/free-port.ts';
import { sentence } from '../support/messages.ts';
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
const scopes = ['openid', 'offline_access', 'notes:read', 'notes:write'];

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

/**
 * Signs in at the address that a program shows, and allows what it asks for. An unknown client is approved first, once its user has asked.
 * @param rests the redirect URI, if nothing listens there. */
async function signIn({ signet, user }: Journey, url: string, rests?: string): Promise<URL> {
  if (rests === undefined) {
    // mcp-remote shows the address before it listens.
    const callback = new URL(new URL(url).searchParams.get('redirect_uri') ?? '').origin;
    await until('the program listens', () => fetch(callback).then(Boolean, () => false));
  }
  const agent = new UserAgent();
  const first = await agent.open(url);
  if (first.answer?.status === 400) {
    assert.match(first.answer.text, sentence('error.app_waits'));
    const client_id = new URL(url).searchParams.get('client_id') ?? assert.fail(url);
    await askForReview(user, client_id);
    await approve(signet, client_id, scopes);
  }
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

function replaced(text: string, part: RegExp | string, by: string): string {
  const changed = text.replace(part, () => by);
  assert.notEqual(changed, text, `the snippet has no ${part}`);
  return changed;
}

type Call = readonly [tool: string, given: Record<string, unknown>];

/** Runs the snippet, whose access token has expired after each call. @returns what the tools said, and how often the user signed in. */
async function runPython(journey: Journey, t: TestContext, adapt: (text: string) => string, calls: readonly Call[]) {
  const { signet, folder, server, client_id, redirect_uri } = journey;
  const values = { issuer: signet.url, client_id, redirect_uri, client_type: 'public', scope: '' } as const;
  const [snippet] = snippetOf('mcp-python-sdk', { ...values, post_logout_redirect_uri: '', algorithm: 'RS256' });
  const list = / +for tool in [^\n]*\n[^\n]*/;
  const calling = `            for name, given in ${JSON.stringify(calls)}:
                answer = await client.call_tool(name, given)
                print("said " + "".join(part.text for part in answer.content), flush=True)
                auth.context.token_expiry_time = 1`;
  const text = replaced(replaced(snippet!.text, 'https://mcp.example.com/mcp', server), list, calling);
  await writeFile(join(folder, 'client.py'), adapt(text));
  const program = spawn('venv/bin/python', ['client.py'], { cwd: folder });
  t.after(() => program.kill());
  let failed = '';
  program.stderr.on('data', (chunk) => (failed += chunk));
  const said: string[] = [];
  let signIns = 0;
  for await (const line of createInterface({ input: program.stdout })) {
    if (line.startsWith('said ')) said.push(line.slice(5));
    else {
      signIns += 1;
      program.stdin.write(`${(await signIn(journey, line, redirect_uri)).href}\n`);
    }
  }
  assert.equal(said.length, calls.length, failed);
  return { said, signIns };
}

const cases: Readonly<Record<McpProgram, Case>> = {
  'mcp-python-sdk': {
    tools: python,
    callback: 'http://127.0.0.1/callback',
    prepare: pip('mcp==2.3.0', 'uvicorn', 'pyjwt[crypto]==2.15.1'),
    async run(journey) {
      const { t, signet, user, folder, port, server, client_id } = journey;
      await writeRecipe('pyjwt.md', folder);
      const env = { ...process.env, ISSUER: signet.url, AUDIENCE: server, PORT: port, PYTHONUNBUFFERED: '1' };
      const registered = (text: string) => text;
      await t.test('server and client of the pages', async (t) => {
        await serve(t, ['venv/bin/python', 'server.py'], server, { cwd: folder, env });
        const { said, signIns } = await runPython(journey, t, registered, [['whoami', {}]]);
        assert.deepEqual([said, signIns], [[user.user_id], 1]);
      });

      const documents = await openDocumentServer(t);
      const document = documents.urlOf('app');
      const redirect_uris = ['http://127.0.0.1/callback'];
      documents.give(document, { body: documentOf(document, { application_type: 'native', redirect_uris }) });
      const unregistered = (text: string) =>
        replaced(text, / {4}client = OAuthClientInformationFull\([\s\S]*?\n {4}\)/, '    client = None');
      const ways: Record<string, (text: string) => string> = {
        'registered beforehand': (text) => {
          assert.ok(text.includes(client_id));
          return text;
        },
        'by its metadata document': (text) =>
          replaced(unregistered(text), 'sign_in, callback\n', `sign_in, callback, client_metadata_url="${document}"\n`),
        'by dynamic registration': unregistered,
      };
      for (const [name, adapt] of Object.entries(ways)) {
        await t.test(`${name}: sign-in, tool call, refresh, step-up`, async (t) => {
          await startServer(t, folder, signet.url, Number(port));
          const owner = { ...journey, user: await signet.newUser() };
          const calls = [
            ['list_notes', {}],
            ['list_notes', {}],
            ['add_note', { note: 'milk' }],
            ['list_notes', {}],
          ] as const;
          const { said, signIns } = await runPython(owner, t, adapt, calls);
          assert.deepEqual(said, ['', '', `Added for ${owner.user.user_id}`, 'milk']);
          assert.equal(signIns, 2, 'one at first, one for the scope that was missing');
        });
      }
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
      const { t, signet, folder, port, server, client_id, redirect_uri } = journey;
      await startServer(t, folder, signet.url, Number(port));
      const values = { issuer: signet.url, client_id, redirect_uri, client_type: 'public', scope: '' } as const;
      const [snippet] = snippetOf('mcp-remote', { ...values, post_logout_redirect_uri: '', algorithm: 'RS256' });
      const shown = JSON.parse(snippet!.text.replace('https://mcp.example.com/mcp', server));
      const [, address = '', ...identity] = shown.mcpServers.example.args as string[];
      const ways = { 'registered beforehand': [address, ...identity], 'by dynamic registration': [address] };
      for (const [way, args] of Object.entries(ways)) {
        await t.test(`${way}: sign-in, tool call, step-up, refresh`, async (t) => {
          const owner = { ...journey, user: await signet.newUser() };
          const kept = way.replaceAll(' ', '-');
          const start = async () => {
            const transport = new StdioClientTransport({
              command: process.execPath,
              args: [join(folder, 'remote/node_modules/mcp-remote/dist/proxy.js'), ...args],
              // Where it keeps tokens; and no browser.
              env: {
                PATH: process.env.PATH ?? '',
                HOME: folder,
                MCP_REMOTE_CONFIG_DIR: join(folder, kept),
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
          await signIn(owner, await first.asked());
          await first.connected;
          assert.equal(await first.call('list_notes'), '');
          const added = first.call('add_note', { note: 'milk' });
          const again = new URL(await first.asked());
          assert.equal(again.searchParams.get('scope'), 'notes:read offline_access notes:write');
          await signIn(owner, again.href);
          assert.equal(await added, `Added for ${owner.user.user_id}`);
          await first.client.close();

          for (const file of globSync(`${kept}/**/*_tokens.json`, { cwd: folder })) {
            const kept = JSON.parse(await readFile(join(folder, file), 'utf8'));
            await writeFile(join(folder, file), JSON.stringify({ ...kept, access_token: 'a.b.c' }));
          }
          const second = await start();
          await second.connected;
          assert.equal(await second.call('list_notes'), 'milk', 'it has refreshed');
        });
      }
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
    const signet = await startPresentSignet(t, {
      ...internalAddresses,
      SIGNET_CLIENT_ID_METADATA: 'on',
      SIGNET_DYNAMIC_REGISTRATION: 'on',
    });
    const port = String(await freePort());
    const server = `http://127.0.0.1:${port}/mcp`;
    await newApi(signet, ['notes:read', 'notes:write'], server);
    const { client_id } = await signet.registerClient({
      client_type: 'public',
      application_type: 'native',
      redirect_uris: [callback],
      allowed_scopes: scopes,
      id_token_signed_response_alg: 'RS256',
      consent: 'required',
    });
    const redirect_uri = callback.replace(/(localhost|127\.0\.0\.1)/, '$1:49152');
    await run({ t, signet, user: await signet.newUser(), folder, port, server, client_id, redirect_uri });
  });
}
