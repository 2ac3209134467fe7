import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApi } from '../support/apis.ts';
import { documentOf, internalAddresses, openDocumentServer } from '../support/document-server.ts';
import { freePort } from '../support/free-port.ts';
import { sentence } from '../support/messages.ts';
import { claimsOf } from '../support/relying-party.ts';
import { startPresentSignet } from './catalogue-client.ts';
import { approve, askForReview, mcpFolder, type Program, startProgram, startServer } from './mcp-kit.ts';

test('an MCP client signs users in, and uses the tools of a server that an administrator has registered', async (t) => {
  const signet = await startPresentSignet(t, {
    ...internalAddresses,
    SIGNET_CLIENT_ID_METADATA: 'on',
    SIGNET_DYNAMIC_REGISTRATION: 'on',
  });
  const port = await freePort();
  const server = await startServer(t, await mcpFolder(t), signet.url, port);
  await newApi(signet, ['notes:read', 'notes:write'], server.url);
  const scopes = ['openid', 'offline_access', 'notes:read', 'notes:write'];
  const registration: NonNullable<Parameters<typeof signet.registerClient>[0]> = {
    library: 'mcp-typescript-sdk',
    client_type: 'public',
    application_type: 'native',
    redirect_uris: ['http://localhost/callback'],
    allowed_scopes: scopes,
    consent: 'required',
  };
  const redirect_uri = 'http://localhost:49152/callback';

  /** @param client_id as the program has it. */
  async function signsInAndStepsUp(program: Program, client_id: string) {
    const before = program.opened.length;
    assert.equal(await program.call('list_notes'), '');
    assert.equal(program.opened.length, before + 1);
    const asked = program.opened.at(-1)!.searchParams;
    assert.deepEqual([asked.get('resource'), asked.get('scope')], [server.url, 'notes:read offline_access']);
    assert.equal(program.visitor.consents, 1);
    const first = program.tokens;
    const { aud, scope, sub } = claimsOf(first.access_token);
    assert.deepEqual(
      [aud, scope, sub],
      [[client_id, server.url], 'notes:read offline_access', program.visitor.user.user_id],
    );

    // Once it has expired; here it is none.
    program.snippet.authProvider.saveTokens({ ...first, access_token: 'a.b.c' });
    assert.equal(await program.call('list_notes'), '');
    assert.equal(program.opened.length, before + 1, 'without a browser');
    assert.notEqual(program.tokens.refresh_token, first.refresh_token);
    assert.deepEqual(claimsOf(program.tokens.access_token).aud, [client_id, server.url]);

    // The tool needs a scope that was not asked for: the user allows it, and keeps what they had allowed.
    assert.equal(await program.call('add_note', { note: 'milk' }), `Added for ${sub}`);
    assert.deepEqual([program.opened.length, program.visitor.consents], [before + 2, 2]);
    assert.equal(program.opened.at(-1)!.searchParams.get('scope'), 'notes:read notes:write offline_access');
    assert.equal(claimsOf(program.tokens.access_token).scope, 'notes:read notes:write offline_access');
    assert.equal(await program.call('list_notes'), 'milk');
    assert.equal(program.opened.length, before + 2);
  }

  /** The snippet of a program that has no client ID yet. */
  function unregistered(snippet: string, more = ''): string {
    const known = /clientInformation: .*,/;
    assert.match(snippet, known);
    return snippet.replace(
      known,
      `${more} clientInformation: () => kept.client, saveClientInformation: (client) => void (kept.client = client),`,
    );
  }

  /** The user reads that the app waits, nothing is sent to it, and the user asks for the review. @returns its client_id. */
  async function waitsForReview(program: Program): Promise<string> {
    await assert.rejects(program.call('list_notes'), /has not ended/);
    assert.match(program.page?.answer?.text ?? '', sentence('error.app_waits'));
    const client_id = program.opened.at(-1)!.searchParams.get('client_id') ?? assert.fail();
    const { user } = program.visitor;
    await askForReview(user, client_id);
    return client_id;
  }

  await t.test('registered beforehand: sign-in, tool call, refresh, step-up', async () => {
    const user = await signet.newUser();
    const { client_id } = await signet.registerClient(registration);
    const program = await startProgram(signet, user, server, { client_id, redirect_uri });

    await signsInAndStepsUp(program, client_id);
  });

  await t.test('by its metadata document: unknown, one approval, sign-in, tool call, refresh, step-up', async (t) => {
    const documents = await openDocumentServer(t);
    const client_id = documents.urlOf('app');
    const redirect_uris = ['http://localhost/callback'];
    documents.give(client_id, { body: documentOf(client_id, { application_type: 'native', redirect_uris }) });
    const user = await signet.newUser();
    const program = await startProgram(signet, user, server, { client_id, redirect_uri }, (snippet) =>
      unregistered(snippet, `clientMetadataUrl: ${JSON.stringify(client_id)},`),
    );
    assert.equal(await waitsForReview(program), client_id);
    await approve(signet, client_id, scopes);
    await signsInAndStepsUp(program, client_id);
  });

  await t.test('by dynamic registration: unknown, one approval, sign-in, tool call, refresh, step-up', async () => {
    const user = await signet.newUser();
    const program = await startProgram(signet, user, server, { client_id: '', redirect_uri }, unregistered);
    const client_id = await waitsForReview(program);
    await approve(signet, client_id, scopes);
    await signsInAndStepsUp(program, client_id);
  });

  await t.test('a client that is not allowed the scope of a tool is refused, and not sent in circles', async () => {
    const user = await signet.newUser();
    const allowed_scopes = ['offline_access', 'notes:read'];
    const { client_id } = await signet.registerClient({ ...registration, allowed_scopes });
    const program = await startProgram(signet, user, server, { client_id, redirect_uri });
    assert.equal(await program.call('list_notes'), '');
    await assert.rejects(program.call('add_note', { note: 'milk' }), { name: 'Error', message: 'Unauthorized' });
    assert.equal(program.opened.length, 3);
    assert.equal(await program.call('list_notes'), '');
  });

  await t.test('a token for another API, or for none, opens no tool', async () => {
    const other = await newApi(signet, ['mail:read'], 'https://mail.test/mcp');
    const user = await signet.signedInUser();
    const allowed_scopes = ['openid', 'notes:read', 'mail:read'];
    const client = await signet.registerClient({ ...registration, consent: 'skip', allowed_scopes });
    const statusOf = async (access_token: string) => {
      const headers = { authorization: `Bearer ${access_token}`, accept: 'application/json, text/event-stream' };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const answer = await fetch(server.url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answer.status, challenge: answer.headers.get('www-authenticate') };
    };
    const tokenFor = async (changes: Record<string, string>) => (await user.obtainTokens(client, changes)).access_token;
    const right = await tokenFor({ scope: 'notes:read', resource: server.url });
    assert.equal((await statusOf(right)).status, 200);
    const others: Record<string, string>[] = [{ scope: 'mail:read', resource: other.identifier }, { scope: 'openid' }];
    for (const changes of others) {
      const { status, challenge } = await statusOf(await tokenFor(changes));
      assert.equal(status, 401);
      const metadata = server.url.replace('/mcp', '/.well-known/oauth-protected-resource/mcp');
      assert.match(
        challenge ?? '',
        /error="invalid_token", error_description="The access token is for another audience\."/,
      );
      assert.ok(challenge?.includes(`resource_metadata="${metadata}"`), challenge ?? '');
    }
  });
});
