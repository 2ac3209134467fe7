import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { digest } from '../../platform/ids.ts';
import { isLoopback } from '../../platform/ip-address.ts';
import { readNamedFile } from '../../platform/named-files.ts';
import { type PictureFile, readPicture } from '../../platform/picture-files.ts';
import { displayNameProblem } from '../../platform/text.ts';

/** An OpenID Connect issuer that is built in. */
type KnownProvider = {
  /** In its addresses: `/auth/{id}/login`. */
  readonly id: string;
  readonly label: string;
  /** OpenID Connect Discovery §3: its document is at `{issuer}/.well-known/openid-configuration`. */
  readonly issuer: string;
  /** The `prompt` that makes it ask which account is meant; `login` where it has none (OIDC Core §3.1.2.1). */
  readonly promptToChoose?: string;
  /** It sends no `auth_time`, so only a user without another sign-in method can confirm with it. */
  readonly omitsAuthTime?: boolean;
};

const knownProviders: readonly KnownProvider[] = [
  // https://developers.google.com/identity/openid-connect/openid-connect
  {
    id: 'google',
    label: 'Google',
    issuer: 'https://accounts.google.com',
    promptToChoose: 'select_account',
    omitsAuthTime: true,
  },
];

/** `secretHash`: digest of the bearer token that it pushes with. `audience`: `aud` of its events. */
export type SignalTerms = { readonly secretHash: string; readonly audience: string };

export type Provider = KnownProvider & {
  /** Of the store, where administrators change it; else of the settings. */
  readonly isStored?: true;
  readonly client_id: string;
  readonly client_secret: string;
  /** The claim that names groups of the user, of which those that are here are followed; undefined: none. */
  readonly groupsClaim?: string;
  /** What is asked for beside `openid email profile`. */
  readonly scope?: string;
  /** How its security events are recognized; undefined: it sends none. */
  readonly signals?: SignalTerms;
  /** The operator's own file for its button. */
  readonly logo?: string;
  /** Of the picture for its button that the store has. */
  readonly logoId?: string;
};

/** Whose own mark may stand on a button, and is part of the program: `assets/mark-<name>.svg` (decision 73). */
const marks: readonly { name: string; isIssuer(host: string): boolean }[] = [
  { name: 'google', isIssuer: (host) => host === 'accounts.google.com' },
  { name: 'microsoft', isIssuer: (host) => host === 'login.microsoftonline.com' },
];

/** @returns undefined where none is shipped. */
export const markOf = ({ issuer }: Pick<Provider, 'issuer'>): string | undefined => {
  const { host } = new URL(issuer);
  return marks.find((one) => one.isIssuer(host))?.name;
};

export type ProviderSettings = { readonly providers: readonly Provider[] };

/** What a sign-in at an issuer has to know of it, wherever it is configured. */
export function traitsOf(issuer: string): Pick<Provider, 'promptToChoose' | 'omitsAuthTime'> {
  const known = knownProviders.find((one) => one.issuer === issuer);
  return {
    ...(known?.promptToChoose !== undefined && { promptToChoose: known.promptToChoose }),
    ...(known?.omitsAuthTime && { omitsAuthTime: true }),
  };
}

/** Of an issuer that is built in, by its id. */
export const knownIssuer = (id: string): Pick<KnownProvider, 'issuer' | 'label'> | undefined =>
  knownProviders.find((one) => one.id === id);

const parts = [
  'ISSUER',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'LABEL',
  'GROUPS_CLAIM',
  'SCOPE',
  'LOGO',
  'SIGNALS_SECRET',
  'SIGNALS_AUDIENCE',
] as const;
type Part = (typeof parts)[number];

/** `SIGNET_PROVIDER_<ID>_<part>`, for any issuer that is not in {@link knownProviders}. */
const ownProvider = new RegExp(`^SIGNET_PROVIDER_([A-Z][A-Z0-9]{0,19})_(${parts.join('|')})$`);

export const isProviderSetting = (name: string): boolean =>
  ownProvider.test(name) || knownProviderSettings.includes(name);

/** To tell a typing error from another program's variable. */
export const knownProviderSettings: readonly string[] = knownProviders.flatMap(({ id }) =>
  parts.map((part) => `SIGNET_${id.toUpperCase()}_${part}`),
);

/** What the settings of a provider begin with. */
export const settingPrefixOf = ({ id }: Pick<Provider, 'id'>): string =>
  knownProviders.some((one) => one.id === id) ? `SIGNET_${id.toUpperCase()}` : `SIGNET_PROVIDER_${id.toUpperCase()}`;

/** In its addresses, and beside the identities that were linked by it. */
export const idPattern = '^[a-z][a-z0-9]{0,19}$';
export const longestLabel = 40;
export const isLabel = (text: string): boolean => displayNameProblem(text) === undefined && text.length <= longestLabel;
/** 1 to 200 printable ASCII characters without spaces. */
export const claimPattern = '^[\\x21-\\x7e]{1,200}$';
export const isClaimName = (text: string): boolean => new RegExp(claimPattern).test(text);
/** Names of scopes (RFC 6749 §3.3) with spaces between them. */
export const scopePattern = '^[\\x21\\x23-\\x5b\\x5d-\\x7e ]{1,500}$';
export const isScope = (text: string): boolean => new RegExp(scopePattern).test(text);

/** A bearer token (RFC 6750 §2.1) that is too long to be guessed. */
const isSignalsSecret = (text: string): boolean => /^[\w.~+/-]{32,200}=*$/.test(text);
export const audiencePattern = '^[\\x21-\\x7e]{1,255}$';
export const isAudience = (text: string): boolean => new RegExp(audiencePattern).test(text);
/** SHA-256 in base64url. */
export const hashPattern = '^[A-Za-z0-9_-]{43}$';
export const isHash = (text: string): boolean => new RegExp(hashPattern).test(text);

/**
 * https, or http on this machine: an id token that was fetched in the clear proves nothing.
 * @returns it in one spelling, since identities are kept under it; undefined if it cannot be an issuer.
 */
export function spelledIssuer(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (!url || !isSafe || url.search || url.hash || url.username || url.password) return undefined;
  return url.pathname === '/' ? url.origin : url.href;
}

type Environment = Readonly<Record<string, string | undefined>>;
/** Is given a sentence that begins with the setting's name. */
type Refuse = (sentence: string) => never;
type Candidate = { id: string; prefix: string; known?: KnownProvider };

/** The providers that the environment switches on: known ones first, then the operator's own by name. */
export function readProviders(environment: Environment, refuse: Refuse): readonly Provider[] {
  const ids = Object.keys(environment).flatMap((name) => ownProvider.exec(name)?.[1] ?? []);
  const own = [...new Set(ids)].sort().map((id) => ({ id: id.toLowerCase(), prefix: `SIGNET_PROVIDER_${id}` }));
  const shipped = knownProviders.map((known) => ({ id: known.id, prefix: `SIGNET_${known.id.toUpperCase()}`, known }));
  return Object.freeze([...shipped, ...own].flatMap((candidate) => readProvider(environment, candidate, refuse) ?? []));
}

function readProvider(environment: Environment, { id, prefix, known }: Candidate, refuse: Refuse) {
  const read = (part: Part) => environment[`${prefix}_${part}`] || undefined;
  const set = parts.find((part) => read(part) !== undefined);
  if (set === undefined) return undefined;
  if (!known && knownProviders.some((one) => one.id === id)) {
    refuse(`${prefix}_${set} belongs to a built-in provider: use SIGNET_${id.toUpperCase()}_${set} instead.`);
  }
  const missing = (part: Part) => refuse(`${prefix}_${part} is missing, although ${prefix}_${set} is set.`);
  const label = read('LABEL') ?? known?.label ?? id;
  if (!isLabel(label)) refuse(`${prefix}_LABEL must be 1 to 40 visible characters.`);
  const [groupsClaim, scope, logo] = [read('GROUPS_CLAIM'), read('SCOPE'), read('LOGO')];
  if (groupsClaim !== undefined && !isClaimName(groupsClaim))
    refuse(`${prefix}_GROUPS_CLAIM must be the name of a claim: 1 to 200 printable ASCII characters without spaces.`);
  if (scope !== undefined && !isScope(scope))
    refuse(`${prefix}_SCOPE must be names of scopes with spaces between them.`);
  const issuer = readIssuer(read('ISSUER') ?? known?.issuer ?? missing('ISSUER'), prefix, refuse);
  const client_id = read('CLIENT_ID') ?? missing('CLIENT_ID');
  const [signalsSecret, audience = client_id] = [read('SIGNALS_SECRET'), read('SIGNALS_AUDIENCE')];
  if (signalsSecret !== undefined && !isSignalsSecret(signalsSecret))
    refuse(`${prefix}_SIGNALS_SECRET must be 32 to 200 letters, digits and other characters of a bearer token.`);
  if (!isAudience(audience))
    refuse(`${prefix}_SIGNALS_AUDIENCE must be 1 to 255 printable ASCII characters without spaces.`);
  return Object.freeze({
    id,
    label,
    promptToChoose: known?.promptToChoose,
    omitsAuthTime: known?.omitsAuthTime,
    issuer,
    client_id,
    client_secret: read('CLIENT_SECRET') ?? missing('CLIENT_SECRET'),
    ...(groupsClaim !== undefined && { groupsClaim }),
    ...(scope !== undefined && { scope }),
    ...(signalsSecret !== undefined && { signals: { secretHash: digest(signalsSecret), audience } }),
    ...(logo !== undefined && { logo: readLogo(logo, prefix, refuse) }),
  });
}

/** KB of the picture on a button, and pixels of a side. */
export const maxLogoKb = 8;
export const maxLogoSide = 512;

/** Where pictures of the store are, followed by their ids. */
export const providerLogosPath = '/provider-logos';

/** What is behind an ID never changes. */
export const providerLogoIdOf = (content: Buffer): string => hash('sha256', content, 'hex').slice(0, 32);

/** By the bytes, of which only what is drawn is kept. @returns what is wrong, if something is. */
export function readProviderLogo(file: Buffer): PictureFile | 'size' | 'type' | 'shape' {
  if (file.length > maxLogoKb * 1024) return 'size';
  const found = readPicture(file);
  if (found === undefined) return 'type';
  return found.width === found.height && found.width <= maxLogoSide ? found : 'shape';
}

/** @returns its path, once its bytes were looked at. */
function readLogo(path: string, prefix: string, refuse: Refuse): string {
  if (typeof readProviderLogo(readNamedFile(`${prefix}_LOGO`, path, refuse)) === 'string')
    return refuse(
      `${prefix}_LOGO must name a PNG, JPEG or WebP file of at most ${maxLogoKb} KB, a square of at most ${maxLogoSide} pixels.`,
    );
  return resolve(path);
}

function readIssuer(text: string, prefix: string, refuse: Refuse): string {
  const issuer = spelledIssuer(text);
  if (issuer !== undefined) return issuer;
  return refuse(`${prefix}_ISSUER must be an https URL without query, fragment or user name; http is for loopback.`);
}
