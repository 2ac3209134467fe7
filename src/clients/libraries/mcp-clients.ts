import { type Library, lines, quoted, quotedForShell, type SnippetValues } from './library.ts';

/** Where the MCP server is, which the client's registration does not say. */
const server = 'https://mcp.example.com/mcp';

/** They read no id token, and what they obtain is for a server of others. */
const client = {
  kinds: ['mcp'],
  algorithms: ['RS256', 'EdDSA'],
  verifier: 'the MCP server',
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: null,
} as const satisfies Partial<Library>;

const refusedByServer = {
  without: 'algorithm',
  seen: 'the sign-in succeeds, then: Server returned 401 after successful authentication. FastMCP verifies RS256 unless it is told',
  setting: 'algorithm="EdDSA"',
} as const;

const otherPort = { without: 'port', seen: 'the page of Signet: redirect_uri does not match' } as const;

const typescript = ({ client_id, redirect_uri, issuer }: SnippetValues) =>
  lines(
    "import { Client } from '@modelcontextprotocol/sdk/client/index.js';",
    "import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';",
    "import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';",
    '',
    `const server = new URL(${quoted(server)});`,
    '',
    '/** Keep the tokens where only this user can read them. */',
    'const kept = {};',
    '',
    'export const authProvider = {',
    `  redirectUrl: ${quoted(redirect_uri)}, // with the port on which the callback is awaited`,
    `  clientMetadata: { client_name: 'My client', redirect_uris: [${quoted(redirect_uri)}] },`,
    '  // A server that names another issuer gets nothing that belongs to this one.',
    `  clientInformation: () => ({ client_id: ${quoted(client_id)}, issuer: ${quoted(issuer)} }),`,
    '  // A refresh adds no scope, and the SDK would try one first.',
    '  tokens: () => (kept.lacksScope ? { ...kept.tokens, refresh_token: null } : kept.tokens),',
    '  saveTokens: (tokens) => void Object.assign(kept, { tokens, lacksScope: false }),',
    '  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),',
    '  codeVerifier: () => kept.verifier,',
    '  state: () => (kept.state = crypto.randomUUID()),',
    '  redirectToAuthorization(url) {',
    '    // The SDK asks for the scopes that the server names; this one keeps the user signed in.',
    "    url.searchParams.set('scope', [url.searchParams.get('scope'), 'offline_access'].join(' ').trim());",
    '    kept.signIn = url;',
    '  },',
    '};',
    '',
    'async function noticing(url, init) {',
    '  const response = await fetch(url, init);',
    '  if (response.status === 403) kept.lacksScope = true;',
    '  return response;',
    '}',
    '',
    '/**',
    ' * @param action what is done with a client that is connected, once more after a sign-in.',
    ' * @param openBrowser opens an address, and gives the address at which the browser came back.',
    ' */',
    'export async function useServer(action, openBrowser) {',
    '  // Once to sign in, and once for a scope that is missing: a user who may not have it would be sent in circles.',
    '  for (let signIns = 0; ; signIns += 1) {',
    "    const client = new Client({ name: 'my-client', version: '1.0.0' });",
    '    const transport = new StreamableHTTPClientTransport(server, { authProvider, fetch: noticing });',
    '    try {',
    '      await client.connect(transport);',
    '      return await action(client);',
    '    } catch (error) {',
    '      if (!(error instanceof UnauthorizedError) || signIns === 2) throw error;',
    '      const answer = new URL(await openBrowser(kept.signIn)).searchParams;',
    "      if (answer.get('state') !== kept.state) throw new Error('The answer belongs to another sign-in.');",
    "      if (!answer.has('code')) throw new Error(answer.get('error_description') ?? 'The sign-in has not ended.');",
    "      await transport.finishAuth(answer.get('code'));",
    '    } finally {',
    '      await client.close();',
    '    }',
    '  }',
    '}',
  );

export const mcpTypescriptSdk: Library = {
  ...client,
  id: 'mcp-typescript-sdk',
  name: 'MCP TypeScript SDK (client)',
  ecosystem: 'Node.js',
  homepage: 'https://github.com/modelcontextprotocol/typescript-sdk',
  versions: '@modelcontextprotocol/sdk 1.32.2, Node.js 26',
  callback: 'http://127.0.0.1/callback',
  symptoms: [refusedByServer, { ...otherPort, setting: 'redirectUrl' }],
  snippets: [{ file: 'client.mjs', text: typescript }],
};

const python = ({ client_id, redirect_uri, issuer }: SnippetValues) =>
  lines(
    'import asyncio',
    'import sys',
    'from urllib.parse import parse_qs, urlsplit',
    '',
    'import httpx2',
    'from mcp import Client',
    'from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider',
    'from mcp.client.streamable_http import streamable_http_client',
    'from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata',
    '',
    `SERVER = ${quoted(server)}`,
    `REDIRECT_URI = ${quoted(redirect_uri)}  # with the port on which the callback is awaited`,
    '',
    '',
    'class Kept:',
    '    """Keep the tokens where only this user can read them."""',
    '',
    '    # A server that names another issuer gets nothing that belongs to this one.',
    '    client = OAuthClientInformationFull(',
    `        client_id=${quoted(client_id)}, redirect_uris=[REDIRECT_URI], issuer=${quoted(issuer)}`,
    '    )',
    '    tokens = None',
    '',
    '    async def get_client_info(self):',
    '        return self.client',
    '',
    '    async def set_client_info(self, client_info):',
    '        self.client = client_info',
    '',
    '    async def get_tokens(self):',
    '        return self.tokens',
    '',
    '    async def set_tokens(self, tokens):',
    '        self.tokens = tokens',
    '',
    '',
    'async def sign_in(url: str) -> None:',
    '    print(url, flush=True)',
    '',
    '',
    'async def callback() -> AuthorizationCodeResult:',
    '    """What the browser came back with; here its address is pasted."""',
    '    line = await asyncio.to_thread(sys.stdin.readline)',
    '    answer = {name: value for name, [value] in parse_qs(urlsplit(line.strip()).query).items()}',
    '    return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer.get("iss"))',
    '',
    '',
    'auth = OAuthClientProvider(',
    '    SERVER, OAuthClientMetadata(client_name="My client", redirect_uris=[REDIRECT_URI]), Kept(), sign_in, callback',
    ')',
    '',
    '',
    'async def main() -> None:',
    '    async with httpx2.AsyncClient(auth=auth, timeout=60) as http:',
    '        async with Client(streamable_http_client(SERVER, http_client=http)) as client:',
    '            for tool in (await client.list_tools()).tools:',
    '                print(tool.name, flush=True)',
    '',
    '',
    'if __name__ == "__main__":',
    '    asyncio.run(main())',
  );

export const mcpPythonSdk: Library = {
  ...client,
  id: 'mcp-python-sdk',
  name: 'MCP Python SDK (client)',
  ecosystem: 'Python',
  homepage: 'https://github.com/modelcontextprotocol/python-sdk',
  versions: 'mcp 2.3.0, Python 3',
  callback: 'http://127.0.0.1/callback',
  symptoms: [refusedByServer, { ...otherPort, setting: 'redirect_uris' }],
  snippets: [{ file: 'client.py', text: python }],
};

/** Its issuer keeps a server that names another one from being given anything of it. */
const identity = ({ client_id, issuer }: SnippetValues) => JSON.stringify({ client_id, issuer });

const configuration = (values: SnippetValues) => {
  const args = ['mcp-remote', server, '--static-oauth-client-info', identity(values)];
  return `${JSON.stringify({ mcpServers: { example: { command: 'npx', args } } }, null, 2)}\n`;
};

const terminal = (values: SnippetValues) =>
  lines(`npx mcp-remote ${server} --static-oauth-client-info ${quotedForShell(identity(values))}`);

export const mcpRemote: Library = {
  ...client,
  id: 'mcp-remote',
  name: 'mcp-remote (Claude Desktop, Cursor and others)',
  ecosystem: 'Node.js',
  homepage: 'https://github.com/geelen/mcp-remote',
  versions: 'mcp-remote 0.15.1, Node.js 26',
  callback: 'http://localhost/oauth/callback',
  symptoms: [refusedByServer, { ...otherPort, setting: '--host, --callback-path' }],
  snippets: [
    { file: 'mcp.json', text: configuration },
    { file: 'mcp-remote.sh', text: terminal },
  ],
};
