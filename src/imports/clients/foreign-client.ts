import { authenticationMethods } from '../../clients/authentication-methods.ts';
import { isMembers, listOf, type Members } from '../adapters/adapter.ts';

/** A client of another product, in our words. */
export type ForeignClient = {
  client_id: string;
  /** As it is in the export; undefined if that has none, or a hash of it. */
  client_secret: string | undefined;
  /** Members of a registration. */
  registration: Readonly<Record<string, unknown>> & { name: string; redirect_uris: readonly string[] };
  /** What changes for the product or its users, one sentence each. */
  notes: readonly string[];
  /** It is switched off there, so it is not approved here without a look at it. */
  isOff?: boolean;
  /** Why it cannot be a client here, with the way out; undefined if it can. */
  refusal: string | undefined;
};

/** One product's export of its clients. */
export type ClientAdapter = {
  /** The member that has the clients, where a document is not a list of them. */
  list: string;
  /** The member that every client has. */
  id: string;
  /** Undefined for one that belongs to the product itself. */
  toClient(exported: Members): ForeignClient | undefined;
};

/** The clients of an export that was parsed; undefined for a document that is none of this product's. */
export function clientsIn(document: unknown, { list, id, toClient }: ClientAdapter): ForeignClient[] | undefined {
  const clients = isMembers(document) ? document[list] : document;
  if (!Array.isArray(clients)) return undefined;
  return listOf(clients).flatMap((client) => (id in client ? (toClient(client) ?? []) : []));
}

export const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string' && one !== '') : [];

/** What no product here can have, and where to go instead. */
export const waysOut = {
  saml: 'It is a SAML client, and Signet speaks OpenID Connect alone. Connect it through a bridge, or by OpenID Connect if it can.',
  api: 'It takes tokens and signs nobody in: register it as an API (signet apis register).',
  machine:
    'It signs in without a user (client credentials), which Signet does not do. Give the program a service credential (signet service-credentials create).',
  noCode:
    'It does not use the authorization code flow: the implicit and password grants are gone from OAuth 2.1. Change it to the code flow with PKCE, then register it.',
  noRedirect: 'It has no redirect URI that can be registered here. Register it with exact ones.',
  id: 'Its client_id has other characters than letters, digits, dots, hyphens and underscores, begins with a dot, has more than 64, or looks like an id that Signet has made. Register it anew.',
} as const;

/** Redirect URIs are compared character for character here. */
export function withoutPatterns(uris: readonly string[]): { exact: string[]; notes: string[] } {
  const exact = uris.filter((uri) => !/[*+]/.test(uri) && /^[a-z][a-z0-9+.-]*:/i.test(uri));
  const left = uris.filter((uri) => !exact.includes(uri));
  return {
    exact: [...new Set(exact)],
    notes: left.map(
      (uri) => `The redirect URI ${uri.slice(0, 200)} is a pattern or no URI, and was left out: list the exact ones.`,
    ),
  };
}

/** Of the grants that it may use there, those that are not here. */
export function grantNotes(grants: readonly string[]): string[] {
  const gone = grants.filter((grant) => !['authorization_code', 'refresh_token'].includes(grant));
  return gone.map((grant) => `The grant ${grant.slice(0, 100)} is not here, and was left out.`);
}

/** Undefined for a method that is not here; then what a client of its type has by default counts. */
export const methodOf = (method: unknown): string | undefined =>
  typeof method === 'string' && Object.hasOwn(authenticationMethods, method) ? method : undefined;

export const pkceNote =
  'Signet requires PKCE (S256) of every client: make sure that its library sends code_challenge, as most do by a setting.';
