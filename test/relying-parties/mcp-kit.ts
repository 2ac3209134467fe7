import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { snippetOf } from '../../src/clients/libraries/catalogue.ts';
import { writeRecipe } from '../support/recipes.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';
import { type Visit, Visitor } from './visit.ts';

/*
 * Model Context Protocol with the official SDK: the servers of docs/resource-servers/mcp.md as they stand on the page, and the
 * client of the catalogue as the console shows it.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));

/** A folder with the files of the page and what they need, `@signet/verify` as its sources. */
export async function mcpFolder(t: TestContext): Promise<string> {
  const folder = await scratchFolder('mcp');
  t.after(() => rm(folder, { recursive: true, force: true }));
  const packages = join(folder, 'node_modules');
  const own = join(packages, '@signet/verify');
  await mkdir(own, { recursive: true });
  for (const name of ['@modelcontextprotocol', 'express', 'zod'])
    await symlink(join(root, 'node_modules', name), join(packages, name));
  await symlink(join(root, 'packages/verify/src'), join(own, 'src'));
  const exports = { '.': './src/index.ts', './express': './src/express.ts' };
  await writeFile(join(own, 'package.json'), JSON.stringify({ type: 'module', exports }));
  await writeRecipe('mcp.md', folder);
  return folder;
}

export type McpServer = { url: string; folder: string };

/** The server of the page with the TypeScript SDK, until the end of the test. */
export async function startServer(t: TestContext, folder: string, issuer: string, port: number): Promise<McpServer> {
  const url = `http://127.0.0.1:${port}/mcp`;
  const child = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ISSUER: issuer, RESOURCE: url, PORT: String(port) },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  t.after(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const answers = () => fetch(url).then(Boolean, () => child.exitCode !== null && assert.fail(said));
  await until('the MCP server listens', answers, () => said);
  return { url, folder };
}

type Tokens = { access_token: string; refresh_token?: string; scope?: string };
type Snippet = {
  authProvider: { tokens(): Tokens | undefined; saveTokens(tokens: Tokens): void; [name: string]: unknown };
  useServer<Result>(
    action: (client: Client) => Promise<Result>,
    openBrowser: (url: URL) => Promise<string>,
  ): Promise<Result>;
};

/** A program that a user runs: it has the snippet with its client's ID. */
export class Program {
  readonly visitor: Visitor;
  /** The addresses at which a browser was opened. */
  readonly opened: URL[] = [];
  /** Where that browser came to rest. */
  page: Visit | undefined;
  readonly snippet: Snippet;

  constructor(snippet: Snippet, visitor: Visitor) {
    this.snippet = snippet;
    this.visitor = visitor;
  }

  get tokens(): Tokens {
    return this.snippet.authProvider.tokens() ?? assert.fail('it has no tokens');
  }

  /** @returns the text that the tool answered with. */
  call(name: string, args: Record<string, unknown> = {}): Promise<string> {
    return this.snippet.useServer(
      async (client) => {
        const { content } = await client.callTool({ name, arguments: args });
        return (content as { text: string }[]).map(({ text }) => text).join('\n');
      },
      async (url) => {
        this.opened.push(url);
        this.page = await this.visitor.open(url);
        return this.page.url.href;
      },
    );
  }
}

let programs = 0;

export async function startProgram(
  signet: Signet,
  user: TestUser,
  { url, folder }: McpServer,
  { client_id, redirect_uri }: Pick<RegisteredClient, 'client_id' | 'redirect_uri'>,
  adapt = (text: string) => text,
): Promise<Program> {
  const values = { issuer: signet.url, client_id, redirect_uri, client_type: 'public', scope: '' } as const;
  const [snippet] = snippetOf('mcp-typescript-sdk', { ...values, post_logout_redirect_uri: '', algorithm: 'RS256' });
  programs += 1;
  const file = join(folder, `client-${programs}.mjs`);
  await writeFile(file, adapt(snippet!.text.replace('https://mcp.example.com/mcp', url)));
  const visitor = new Visitor(signet, user, redirect_uri, false);
  return new Program(await import(pathToFileURL(file).href), visitor);
}

/** Of a user who has read that the app waits. */
export async function askForReview(user: TestUser, client_id: string): Promise<void> {
  await user.signIn();
  assert.equal((await user.browser.post('/review-request', { client_id })).status, 303);
}

/** The one act of an administrator. */
export async function approve(signet: Signet, client_id: string, allowed_scopes: readonly string[]): Promise<void> {
  const admin = await signet.signedInUser({ role: 'admin' });
  const path = `/v1/admin/clients/${encodeURIComponent(client_id)}`;
  const revision = (await admin.browser.get(path)).json?.revision;
  const answer = await admin.browser.postJson(`${path}/approve`, { revision, consent: 'required', allowed_scopes });
  assert.equal(answer.status, 200, answer.text);
}
