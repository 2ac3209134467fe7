import assert from 'node:assert/strict';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { SigningAlgorithm } from '../../src/clients/choices.ts';
import type { PublicJwk } from '../../src/clients/keys/key-set.ts';
import { snippetValuesOf } from '../../src/clients/libraries/advice.ts';
import { findLibrary, type SnippetFile, snippetOf } from '../../src/clients/libraries/catalogue.ts';
import { keyVariable, type Library, type lacks, secretVariable } from '../../src/clients/libraries/library.ts';
import { freePort } from '../support/free-port.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { scratchFolder } from '../support/scratch.ts';
import { type Signet, startSignet } from '../support/signet.ts';

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** A Signet on the clock of the machine, which the libraries read. */
export async function startPresentSignet(t: TestContext, env: Record<string, string> = {}): Promise<Signet> {
  const signet = await startSignet(t, { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1', ...env } });
  signet.clock.advance(Math.floor((Date.now() - signet.clock()) / 1000));
  return signet;
}

/** A client that is registered as the catalogue proposes for its library, and the snippet that its console shows. */
export type CatalogueClient = {
  library: Library;
  client: RegisteredClient;
  /** Of the relying party. */
  origin: string;
  port: number;
  post_logout_redirect_uri: string;
  files: readonly SnippetFile[];
};

type Changes = {
  client_type?: 'confidential' | 'public';
  algorithm?: SigningAlgorithm;
  claims_in_id_token?: boolean;
  allowed_scopes?: string[];
  /** Where it receives logout tokens. */
  backchannel_logout_path?: string;
  /** It authenticates by this key, a JWK with its private half. */
  key?: Readonly<Record<string, unknown>>;
};

export async function registerFor(signet: Signet, id: string, changes: Changes = {}): Promise<CatalogueClient> {
  const library = findLibrary(id) ?? assert.fail(id);
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const post_logout_redirect_uri = `${origin}/bye`;
  const isSpa = library.kinds[0] === 'spa';
  const { client_type = isSpa ? 'public' : 'confidential' } = changes;
  const client = await signet.registerClient({
    library: id,
    client_type,
    application_type: isSpa ? 'spa' : 'web',
    redirect_uris: [origin + (library.callback ?? '/cb')],
    post_logout_redirect_uris: [post_logout_redirect_uri],
    ...(changes.allowed_scopes && { allowed_scopes: changes.allowed_scopes }),
    id_token_signed_response_alg: changes.algorithm ?? library.algorithms[0],
    claims_in_id_token: changes.claims_in_id_token ?? library.claims_in_id_token ?? true,
    backchannel_logout_uri:
      changes.backchannel_logout_path && `http://127.0.0.1:${port}${changes.backchannel_logout_path}`,
    ...(changes.key
      ? { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicHalfOf(changes.key)] } }
      : { token_endpoint_auth_method: client_type === 'public' ? null : library.authentication }),
  });
  const row = (await signet.deps.clients.find(client.client_id)) ?? assert.fail();
  const files = snippetOf(id, snippetValuesOf(row, signet.url));
  if (changes.key) process.env[keyVariable] = JSON.stringify(changes.key);
  return { library, client, origin, port, post_logout_redirect_uri, files };
}

const publicHalfOf = ({ d: _, ...jwk }: Readonly<Record<string, unknown>>) => jwk as PublicJwk;

/** What the catalogue says is seen when something is missing. */
export const seenWithout = ({ library }: CatalogueClient, lack: (typeof lacks)[number]): string =>
  library.symptoms.find(({ without }) => without === lack)?.seen ?? assert.fail(`${library.id} names no ${lack}`);

/** @param seen of the catalogue, where … stands for the rest. */
export const assertSeen = (shown: string, seen: string): void =>
  assert.ok(
    seen.split('…').every((part) => shown.includes(part)),
    `shown: ${shown}\ncatalogue: ${seen}`,
  );

/** The same client, whose developer has left out what matches in its snippet. */
export function without(client: CatalogueClient, pattern: RegExp): CatalogueClient {
  const files = client.files.map(({ file, text }) => ({ file, text: text.replace(pattern, '') }));
  assert.notDeepEqual(files, client.files, `the snippet has no ${pattern}`);
  return { ...client, files };
}

/** Writes the snippet into a folder with our packages. @param aliases packages that it knows by another name. */
export async function writeSnippet(
  t: TestContext,
  { files }: Pick<CatalogueClient, 'files'>,
  aliases?: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = await scratchFolder('relying-party');
  t.after(() => rm(folder, { recursive: true, force: true }));
  const linked = join(folder, 'node_modules');
  if (aliases === undefined) await symlink(packages, linked);
  else {
    await mkdir(linked);
    for (const [name, of] of Object.entries(aliases)) await symlink(join(packages, of), join(linked, name));
  }
  for (const { file, text } of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return folder;
}

/** Runs the first file of a snippet, with the secrets where it expects them. @returns what it exports. */
export async function runSnippet<Exports>(
  t: TestContext,
  given: CatalogueClient,
  aliases?: Readonly<Record<string, string>>,
): Promise<Exports> {
  const folder = await writeSnippet(t, given, aliases);
  process.env[secretVariable] = given.client.client_secret ?? '';
  process.env.SESSION_SECRET = 'a secret of 32 random characters';
  return import(pathToFileURL(join(folder, given.files[0]!.file)).href);
}
