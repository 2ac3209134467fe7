import { google } from './providers/google.ts';

/** An OpenID Connect issuer that ships with Signet and waits for credentials. */
export type KnownProvider = {
  /** In its addresses: `/auth/{id}/login`. */
  readonly id: string;
  /** On its button. */
  readonly label: string;
  /** OpenID Connect Discovery §3: its document is at `{issuer}/.well-known/openid-configuration`. */
  readonly issuer: string;
};

/** One line a provider. */
export const knownProviders: readonly KnownProvider[] = [google];

/** A provider that an operator has switched on. */
export type Provider = KnownProvider & { readonly client_id: string; readonly client_secret: string };

const parts = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET', 'LABEL'] as const;
type Part = (typeof parts)[number];

/** `SIGNET_PROVIDER_<ID>_<part>`, for any issuer that is not in {@link knownProviders}. */
const ownProvider = new RegExp(`^SIGNET_PROVIDER_([A-Z][A-Z0-9]{0,19})_(${parts.join('|')})$`);

export const isProviderSetting = (name: string): boolean =>
  ownProvider.test(name) ||
  knownProviders.some(({ id }) => parts.some((part) => name === `SIGNET_${id.toUpperCase()}_${part}`));

/**
 * The providers that the environment switches on: known ones first, then the operator's own by name.
 * @param refuse is given a sentence that begins with the setting's name.
 */
export function readProviders(
  environment: Readonly<Record<string, string | undefined>>,
  refuse: (sentence: string) => never,
): readonly Provider[] {
  const ids = Object.keys(environment).flatMap((name) => ownProvider.exec(name)?.[1] ?? []);
  const own = [...new Set(ids)].sort().map((id) => ({ id: id.toLowerCase(), prefix: `SIGNET_PROVIDER_${id}` }));
  const known = knownProviders.map((provider) => ({ ...provider, prefix: `SIGNET_${provider.id.toUpperCase()}` }));
  return [...known, ...own].flatMap((candidate: Partial<KnownProvider> & { id: string; prefix: string }) => {
    const read = (part: Part) => environment[`${candidate.prefix}_${part}`] || undefined;
    const set = parts.filter((part) => read(part) !== undefined);
    if (set.length === 0) return [];
    const issuer = read('ISSUER') ?? candidate.issuer;
    const { client_id, client_secret } = { client_id: read('CLIENT_ID'), client_secret: read('CLIENT_SECRET') };
    if (!client_id) refuse(`${candidate.prefix}_CLIENT_ID is missing, although ${candidate.prefix}_${set[0]} is set.`);
    if (!client_secret) {
      refuse(`${candidate.prefix}_CLIENT_SECRET is missing, although ${candidate.prefix}_${set[0]} is set.`);
    }
    if (!issuer) refuse(`${candidate.prefix}_ISSUER is missing, although ${candidate.prefix}_${set[0]} is set.`);
    if (known.some(({ id }) => id === candidate.id) && candidate.issuer === undefined) {
      refuse(
        `${candidate.prefix}_ISSUER names a provider that Signet knows: set SIGNET_${candidate.id.toUpperCase()}_CLIENT_ID instead.`,
      );
    }
    if (!isIssuer(issuer)) {
      refuse(`${candidate.prefix}_ISSUER must be an https URL without query or fragment; http is for loopback.`);
    }
    return [
      { id: candidate.id, label: read('LABEL') ?? candidate.label ?? candidate.id, issuer, client_id, client_secret },
    ];
  });
}

/** https, or http on this machine: an id token that was fetched in the clear proves nothing. */
function isIssuer(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, search, hash } = new URL(text);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return search === '' && hash === '' && (protocol === 'https:' || (protocol === 'http:' && isLocal));
}
