/** What `npm run test:clients` runs. A client is named for its library in the catalogue, a recipe for its page. */
export const clients = [
  'authlib',
  'mozilla-django-oidc',
  'django-allauth',
  'python-social-auth',
  'go-oidc',
  'rust-openidconnect',
  'spring-security-7',
  'spring-security-6',
  'mod-auth-openidc',
  'oauth2-proxy',
] as const;
export type ClientName = (typeof clients)[number];

export const resourceServers = ['node', 'nginx-oauth2-proxy', 'pyjwt', 'golang-jwt', 'jose4j', 'spring'] as const;
export type ResourceServerName = (typeof resourceServers)[number];

/** Clients and servers of the Model Context Protocol. */
export const mcpPrograms = ['mcp-python-sdk', 'mcp-fastmcp', 'mcp-remote', 'mcp-conformance'] as const;
export type McpProgram = (typeof mcpPrograms)[number];

/** Checkers of the protocol by which directories maintain users and groups. */
export const scimCheckers = ['scim2-tester'] as const;
export type ScimChecker = (typeof scimCheckers)[number];

/** Libraries that read lists of revoked tokens. */
export const statusListReaders = ['sd-jwt-status-list', 'token-status-list'] as const;
export type StatusListReader = (typeof statusListReaders)[number];

export const caseNames: readonly string[] = [
  ...clients,
  ...resourceServers,
  ...mcpPrograms,
  ...statusListReaders,
  ...scimCheckers,
];

/** How `main.ts` hands its choice to the files that it runs; without it, a file runs all its cases. */
export const choiceVariable = 'TEST_LANGUAGES_ONLY';

/** Asked before a case is registered: a run of one case is to show that one alone. */
export function isChosen(name: ClientName | ResourceServerName | McpProgram | StatusListReader | ScimChecker): boolean {
  const chosen = process.env[choiceVariable];
  return chosen === undefined || chosen.split(',').includes(name);
}
