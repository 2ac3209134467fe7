import type { AuthenticationMethod } from '../authentication-methods.ts';
import type { applicationTypes, ClientType, SigningAlgorithm } from '../choices.ts';

/**
 * What a client is registered for. `mcp` is a client of the Model Context Protocol, for the tools of an API. A `service` is an API: it
 * checks tokens and has no sign-in of its own.
 */
export const kinds = ['web', 'spa', 'native', 'mcp', 'service'] as const;
export type Kind = (typeof kinds)[number];

export const ecosystems = ['Node.js', 'Browser', 'Python', 'Java', 'Go', 'Rust', 'Proxy', 'Mobile', 'Other'] as const;

/**
 * What goes wrong when something is missing. `pkce` and `retry_window` are failures that we see as well. `state` is what the
 * library keeps from the start of a sign-in to its callback.
 */
export const lacks = [
  'pkce',
  'response_type',
  'state',
  'algorithm',
  'claims',
  'retry_window',
  'sign_out',
  'token_type',
  'port',
] as const;

/** The values of one client, as its snippets need them. */
export type SnippetValues = {
  client_id: string;
  client_type: ClientType;
  readonly issuer: string;
  readonly redirect_uri: string;
  readonly post_logout_redirect_uri: string;
  /** Separated by spaces. */
  readonly scope: string;
  readonly algorithm: SigningAlgorithm;
  /** Whether it authenticates by a key of its own (`private_key_jwt`). */
  readonly signs?: boolean;
};

/** Text of a file, or nothing where a client of this type does not need the file. */
export type Snippet = { readonly file: string; readonly text: (values: SnippetValues) => string | false };

export type Symptom = {
  readonly without: (typeof lacks)[number];
  /** What the library shows or logs, in its own words. */
  readonly seen: string;
  /** The setting of the library that mends it; null: it is a setting of the client. */
  readonly setting: string | null;
};

export type Library = {
  readonly id: string;
  readonly name: string;
  readonly ecosystem: (typeof ecosystems)[number];
  /** What it is used for; the first one is proposed. */
  readonly kinds: readonly [Kind, ...Kind[]];
  readonly homepage: string;
  /** What was tried, exactly. */
  readonly versions: string;
  /**
   * The signatures that it verifies or, where it fetches tokens for another verifier, that one does. The first is what it expects
   * unless it is configured.
   */
  readonly algorithms: readonly [SigningAlgorithm, ...SigningAlgorithm[]];
  /** Who verifies what it fetches, if it does not; for the documentation. */
  readonly verifier?: string;
  /** Whether its snippets can authenticate by a key. */
  readonly signs?: true;
  /** How it authenticates unless it is configured; null: either way. */
  readonly authentication: Exclude<AuthenticationMethod, 'none' | 'private_key_jwt'> | null;
  /** Whether it takes name and email address from the id token alone; null: that is not known, and much software does. */
  readonly claims_in_id_token: boolean | null;
  /** Whether requests that arrive together each present the same refresh token. */
  readonly refreshes_in_parallel: boolean;
  /** The setting that turns PKCE on; null where it is on by default, or there is no sign-in. */
  readonly pkce: string | null;
  /** Its function or setting that ends the session at the provider, too. */
  readonly sign_out: string | null;
  /** Whether it returns from there to its redirect URI, rather than to the start page of its site. */
  readonly signs_out_to_callback?: true;
  /** The setting with which it receives logout tokens, and its path for them; left out where that was not tried. */
  readonly backchannel_logout?: { readonly setting: string; readonly path: string };
  /** Path, or whole URI, at which it receives the response, where it is fixed, or as its documentation has it. */
  readonly callback: string | null;
  readonly symptoms: readonly Symptom[];
  readonly snippets: readonly [Snippet, ...Snippet[]];
};

/** The secret belongs in an environment variable: it is shown once, and no page repeats it. */
export const secretVariable = 'OIDC_CLIENT_SECRET';

/** So does a private key, as a JWK. */
export const keyVariable = 'OIDC_PRIVATE_KEY';

/** For JavaScript: reads it, of the kind that docs/relying-parties/client-keys.md makes. */
export const importedKey = `const jwk = JSON.parse(process.env.${keyVariable});
const key = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
`;

/** A JSON string is valid in JavaScript, Python, Java, Go, Rust, YAML and TOML; ours are ASCII without control characters. */
export const quoted = (text: string): string => JSON.stringify(text);

/** Single quotes keep every character; text with one inside needs double quotes, where `$` has a meaning. */
export const quotedForShell = (text: string): string =>
  text.includes("'") ? `"${text.replaceAll('$', '\\$')}"` : `'${text}'`;

/** Whether what is registered for it runs where its users are, so that it can keep no secret. */
export const isOnDevice = (kind: Kind): boolean => kind === 'spa' || kind === 'native' || kind === 'mcp';

/** How it is registered. */
export const applicationTypeOf = (kind: Kind): (typeof applicationTypes)[number] => {
  if (kind === 'service') return 'web';
  return kind === 'mcp' ? 'native' : kind;
};

export const isPublic = ({ client_type }: Pick<SnippetValues, 'client_type'>): boolean => client_type === 'public';

/** Lines without those that do not apply. */
export const lines = (...all: readonly (string | false)[]): string =>
  `${all.filter((line) => line !== false).join('\n')}\n`;

/** The path of a URI, for the route that receives it. */
export const pathOf = (uri: string): string => URL.parse(uri)?.pathname ?? '/callback';
