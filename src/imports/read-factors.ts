import { algorithms, relyingParty } from '../authentication/credentials/webauthn.ts';
import { displayNameProblem, normalizeName } from '../platform/text.ts';
import { coseAlgorithmOf } from './cose.ts';
import type { ReadingDeps } from './deps.ts';
import type { ImportedUser } from './format.ts';

type Times<Name extends string> = Partial<Record<Name, number>>;

export type Totp = Times<'confirmed_at' | 'last_used_at'> & {
  /** In base32, as ours are stored. */
  secret: string;
};
export type Identity = Times<'linked_at' | 'last_used_at'> & {
  issuer: string;
  provider: string;
  subject: string;
  email: string | null;
};
export type Passkey = Times<'backed_up_at' | 'created_at' | 'last_used_at'> & {
  credential_id: string;
  public_key: string;
  user_handle: string | null;
  sign_count: number;
  transports: string[];
  backed_up: boolean;
  name: string;
};

type Given<Name extends keyof ImportedUser> = NonNullable<ImportedUser[Name]>;
type Check = (path: string, problem: string | undefined) => boolean;

/** Bytes: 80 bits are what the shortest secret of a known product has; RFC 4226 §4 asks for 128. */
const secretBytes = { min: 10, max: 128 };

/** Without those that are not known. */
const timesOf = <Name extends string>(given: Partial<Record<Name, number | null | undefined>>, ...names: Name[]) =>
  Object.fromEntries(
    names.flatMap((name) => (typeof given[name] === 'number' ? [[name, given[name]]] : [])),
  ) as Times<Name>;

export function readTotp(given: Given<'totp'>, check: Check): Totp | undefined {
  const { secret, algorithm, digits, period } = given;
  const bare = secret.replaceAll(/[\s=-]/g, '').toUpperCase();
  const bytes = Math.floor((bare.length * 5) / 8);
  const isBase32 = /^[A-Z2-7]+$/.test(bare) && bytes >= secretBytes.min && bytes <= secretBytes.max;
  const isOurs =
    (algorithm ?? 'SHA1').replace('-', '').toUpperCase() === 'SHA1' && (digits ?? 6) === 6 && (period ?? 30) === 30;
  const areFine = [
    check('totp/secret', isBase32 ? undefined : 'Must be 10 to 128 bytes in base32.'),
    check('totp', isOurs ? undefined : 'Only codes of SHA-1, 6 digits and 30 seconds can be checked here.'),
  ];
  return areFine.every(Boolean) ? { secret: bare, ...timesOf(given, 'confirmed_at', 'last_used_at') } : undefined;
}

/** @returns undefined for an identity at a provider that is not configured here. */
export function readIdentity(
  { configured, keepsIdentities }: Pick<ReadingDeps, 'configured' | 'keepsIdentities'>,
  given: Given<'identities'>[number],
  place: number,
  check: Check,
): Identity | undefined {
  const { provider: id, issuer, subject, email } = given;
  const wanted = issuer?.replace(/\/$/, '');
  const known = configured.all.find((one) =>
    wanted ? one.issuer.replace(/\/$/, '') === wanted : one.id === id?.toLowerCase(),
  );
  const found = known ?? (keepsIdentities && issuer ? { issuer, id: id ?? issuer } : undefined);
  const absent = found ? undefined : 'No provider of this ID or issuer is configured here.';
  const problem = /\0/.test(`${issuer}${id}${subject}${email}`) ? 'Contains a NUL, which no text can have.' : absent;
  if (!check(`identities/${place}`, problem) || !found) return undefined;
  const times = timesOf(given, 'linked_at', 'last_used_at');
  const provider = (keepsIdentities && id) || found.id;
  return { issuer: found.issuer, provider, subject, email: email ?? null, ...times };
}

const isBase64url = (text: string) => Buffer.from(text, 'base64url').toString('base64url') === text;

/** @returns undefined for a passkey that no browser would use here. */
export function readPasskey(
  { config }: Pick<ReadingDeps, 'config'>,
  given: Given<'passkeys'>[number],
  place: number,
  check: Check,
): Passkey | undefined {
  const { rpID } = relyingParty(config);
  const { credential_id, public_key, user_handle, name } = given;
  const label = name && displayNameProblem(name) === undefined ? normalizeName(name) : 'Passkey';
  const at = (member: string) => `passkeys/${place}/${member}`;
  const encoded = (text: string) => (isBase64url(text) ? undefined : 'Must be base64url without padding.');
  const algorithm = coseAlgorithmOf(Buffer.from(public_key, 'base64url'));
  const areFine = [
    check(at('rp_id'), given.rp_id === rpID ? undefined : `Is not the RP ID of this server, ${rpID}.`),
    check(at('credential_id'), encoded(credential_id)),
    check(at('user_handle'), encoded(user_handle ?? '')),
    check(
      at('public_key'),
      algorithm !== undefined && algorithms.includes(algorithm)
        ? encoded(public_key)
        : 'Must be a COSE key of EdDSA, ES256 or RS256.',
    ),
  ];
  if (!areFine.every(Boolean)) return undefined;
  return {
    credential_id,
    public_key,
    user_handle: user_handle ?? null,
    sign_count: given.sign_count ?? 0,
    transports: (given.transports ?? []).filter((one) => /^[a-z-]+$/.test(one)),
    backed_up: given.backed_up ?? false,
    name: label,
    ...timesOf(given, 'backed_up_at', 'created_at', 'last_used_at'),
  };
}
