import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import { type FieldProblem, fieldProblem, invalidFields, invalidState, notFound } from '../../platform/errors.ts';
import { digest, lastFour, newId, newSecret } from '../../platform/ids.ts';
import { isSubnet } from '../../platform/ip-address.ts';
import { displayNameProblem, normalizeName } from '../../platform/text.ts';
import type { Deps } from '../deps.ts';
import {
  type CredentialTerms,
  isAdministrative,
  isProduct,
  type Permission,
  permissions,
  type ServiceCredential,
} from './service-credential.ts';
import {
  deleteReplacedSecrets,
  expireSecrets,
  insertCredential,
  insertServiceSecret,
  readCredential,
  updateCredential,
} from './store.ts';

type CredentialDeps = Pick<Deps, 'db' | 'clock' | 'services' | 'apis'>;

/** What is left out of the last two stays as it is. */
type WantedTerms = {
  permissions: readonly string[];
  products: readonly string[];
  /** Addresses and subnets; none: from anywhere. */
  addresses?: readonly string[] | undefined;
  /** From now; null: it never ends. */
  expires_in_days?: number | null | undefined;
  /** Unix seconds, instead of the days. */
  expires_at?: number | null | undefined;
};

const daySeconds = 86_400;
/** For what only writes entitlements and introspects. */
export const mostDays = 3660;
/** Of a credential that administers: a forgotten one ends. */
export const mostDaysToAdminister = 366;
export const mostAddresses = 50;

/** How long the previous secret still works by default: time to deploy the new one. */
export const longestOverlapSeconds = 86_400;
export const overlaps = { now: 0, hour: 3600, day: longestOverlapSeconds } as const;

/**
 * Creates a service credential (decisions §12).
 * @param wanted.client_secret left out: a new one.
 * @returns it, and its secret, which is not readable afterwards.
 * @throws {RequestError} `invalid_request` with a problem for each field.
 */
export async function createCredential(
  deps: CredentialDeps,
  caller: Caller,
  wanted: { name: string; api_id?: string | null | undefined; client_secret?: string | undefined } & WantedTerms,
): Promise<{ credential: ServiceCredential; client_secret: string }> {
  const problems = [...nameProblems(wanted.name), ...apiTermProblems(wanted)];
  const { api_id = null } = wanted;
  if (api_id !== null && !(await deps.apis.read()).find(api_id))
    problems.push(fieldProblem('api_id', { key: 'problem.service.api' }));
  const at = now(deps);
  const terms = readTerms(wanted, { addresses: [], expires_at: null }, { problems, at });
  const credential_id = newId('svc');
  const { client_secret = newSecret('ss_') } = wanted;
  const credential = {
    ...terms,
    api_id,
    credential_id,
    name: normalizeName(wanted.name),
    created_at: at,
    retired_at: null,
  };
  const after = { name: credential.name, ...termsAsLogged(terms), ...(api_id !== null && { api_id }) };
  const secret = newSecretRow(credential_id, client_secret, at);
  const event = auditEvent({ action: 'service_credential.created', ...caller, target: credential_id, after }, at);
  await deps.db.shared.change({
    run: {
      credential: insertCredential(credential, event.event_id),
      secret: insertServiceSecret(secret),
      event: event.statement,
    },
  });
  deps.services.forget(credential_id);
  const { credential_id: _, ...first } = secret;
  const secrets = [{ ...first, expires_at: null, last_used_at: null }];
  return { credential: { ...credential, secrets }, client_secret };
}

/**
 * Adds a new secret. The previous one works for `overlapSeconds` more, and older ones end now: at most two are active, and
 * a leaked one ends at once with an overlap of 0.
 * @param overlapSeconds 0 to a day. @param client_secret left out: a random one.
 * @throws {RequestError} `invalid_request` for another overlap; as {@link findCredential} does; `invalid_state` if retired.
 */
export async function rotateCredential(
  deps: CredentialDeps,
  caller: Caller,
  credential_id: string,
  overlapSeconds: number = longestOverlapSeconds,
  client_secret: string = newSecret('ss_'),
) {
  if (!(Number.isInteger(overlapSeconds) && overlapSeconds >= 0 && overlapSeconds <= longestOverlapSeconds)) {
    const userMessage = { key: 'problem.service.overlap', values: { max: longestOverlapSeconds } } as const;
    throw invalidFields([fieldProblem('overlap_seconds', userMessage)]);
  }
  const at = now(deps);
  await change(deps, caller, {
    action: 'service_credential.rotated',
    credential_id,
    after: { overlap_seconds: overlapSeconds },
    secrets: [
      deleteReplacedSecrets(credential_id),
      expireSecrets(credential_id, at + overlapSeconds),
      insertServiceSecret(newSecretRow(credential_id, client_secret, at)),
    ],
  });
  return { credential_id, client_secret, previous_expires_at: at + overlapSeconds };
}

/**
 * @returns whether they differ from the ones before; if not, nothing is changed or recorded.
 * @throws {RequestError} `invalid_request` with a problem for each field; `not_found`; `invalid_state` if retired.
 */
export async function changeCredentialTerms(
  deps: CredentialDeps,
  caller: Caller,
  credential_id: string,
  wanted: WantedTerms,
): Promise<boolean> {
  const before = await findCredential(deps, credential_id);
  const terms = readTerms(wanted, before, { problems: [], at: now(deps) });
  const isSame =
    isSameSet(terms.permissions, before.permissions) &&
    isSameSet(terms.products, before.products) &&
    isSameSet(terms.addresses, before.addresses) &&
    terms.expires_at === before.expires_at;
  if (isSame && before.retired_at === null) return false;
  await change(deps, caller, {
    action: 'service_credential.restricted',
    credential_id,
    before: termsAsLogged(before),
    after: termsAsLogged(terms),
    to: terms,
  });
  return true;
}

/** What is not restricted is left out, as in the events of earlier versions. */
const termsAsLogged = ({ permissions, products, addresses, expires_at }: CredentialTerms) => ({
  permissions,
  products,
  ...(addresses.length > 0 && { addresses }),
  ...(expires_at !== null && { expires_at }),
});

const isSameSet = (some: readonly string[], others: readonly string[]): boolean =>
  new Set(some).symmetricDifference(new Set(others)).size === 0;

/** It ends permanently, on every node within a second. */
export const retire = (deps: CredentialDeps, caller: Caller, credential_id: string) =>
  change(deps, caller, { action: 'service_credential.retired', credential_id, to: { retired_at: now(deps) } });

/** @throws {RequestError} `not_found`. */
export async function findCredential(deps: Pick<Deps, 'db'>, credential_id: string): Promise<ServiceCredential> {
  const credential = await readCredential(deps.db, credential_id);
  if (!credential) throw notFound();
  return credential;
}

type Change = Pick<Parameters<typeof auditEvent>[0], 'action' | 'before' | 'after'> & {
  credential_id: string;
  to?: Parameters<typeof updateCredential>[2];
  secrets?: readonly Sql[];
};

/** @throws {RequestError} `not_found`; `invalid_state` for a retired credential. */
async function change(
  deps: CredentialDeps,
  caller: Caller,
  { credential_id, to, secrets = [], ...what }: Change,
): Promise<void> {
  const event = auditEvent({ ...what, ...caller, target: credential_id }, now(deps));
  const done = await deps.db.shared.change({
    run: {
      credential: mustChange(updateCredential(credential_id, event.event_id, to)),
      secrets,
      event: event.statement,
    },
  });
  deps.services.forget(credential_id);
  if (done.ok) return;
  await findCredential(deps, credential_id);
  throw invalidState('retired');
}

const newSecretRow = (credential_id: string, client_secret: string, created_at: number) => ({
  secret_id: newId('sec'),
  credential_id,
  secret_hash: digest(client_secret),
  created_at,
  last_four: lastFour(client_secret),
});

const nameProblems = (name: string): FieldProblem[] =>
  displayNameProblem(name) === undefined ? [] : [fieldProblem('name', { key: 'problem.name' })];

/** The credential of an API introspects, and does nothing else. */
function apiTermProblems({ api_id, permissions: given, products }: StoredTerms): FieldProblem[] {
  const isMore = given.some((name) => name !== 'tokens:introspect') || products.length > 0;
  return api_id != null && isMore ? [fieldProblem('permissions', { key: 'problem.service.api_permissions' })] : [];
}

type StoredTerms = Pick<WantedTerms, 'permissions' | 'products'> & { api_id?: string | null | undefined };

/**
 * What is wrong with one that was stored elsewhere. Its end may have passed.
 * @param at now, in Unix seconds; undefined for one that is retired, whose end does not matter.
 */
export function storedProblems(
  stored: StoredTerms & { name: string; addresses: readonly string[]; expires_at?: number },
  at: number | undefined,
): FieldProblem[] {
  const isTooLong = at !== undefined && isEndless(stored.permissions, stored.expires_at ?? null, at);
  const values = { max: mostDaysToAdminister };
  return [
    ...nameProblems(stored.name),
    ...apiTermProblems(stored),
    ...powerProblems(stored),
    ...(isTooLong ? [fieldProblem('expires_at', { key: 'problem.service.expires_to_administer', values })] : []),
  ];
}

const isEndless = (given: readonly string[], expires_at: number | null, at: number): boolean =>
  isAdministrative(given) && (expires_at === null || expires_at > at + mostDaysToAdminister * daySeconds);

function powerProblems({
  permissions: given,
  products,
  addresses,
}: Pick<StoredTerms, 'permissions' | 'products'> & { addresses: readonly string[] }): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (given.length === 0 || !given.every((name) => permissions.some((one) => one === name))) {
    const values = { permissions: permissions.join(', ') };
    problems.push(fieldProblem('permissions', { key: 'problem.service.permissions', values }));
  }
  if (!products.every(isProduct) || products.length > 100) {
    problems.push(fieldProblem('products', { key: 'problem.service.products' }));
  }
  if (given.includes('entitlements:write') && products.length === 0) {
    problems.push(fieldProblem('products', { key: 'problem.service.no_product' }));
  }
  if (!addresses.every((one) => isSubnet(one) && !one.includes('%')) || addresses.length > mostAddresses) {
    problems.push(fieldProblem('addresses', { key: 'problem.service.addresses', values: { max: mostAddresses } }));
  }
  return problems;
}

/** @param before what holds where nothing else is wanted. */
function readTerms(
  terms: WantedTerms,
  before: Pick<CredentialTerms, 'addresses' | 'expires_at'>,
  { problems, at }: { problems: FieldProblem[]; at: number },
): CredentialTerms {
  const wanted = [...new Set(terms.permissions)];
  const known = wanted.filter((name): name is Permission => permissions.some((one) => one === name));
  const products = [...new Set(terms.products)];
  const addresses = [...new Set((terms.addresses ?? before.addresses).map((one) => one.trim()))];
  problems.push(...powerProblems({ permissions: wanted, products, addresses }));
  const { expires_in_days: days } = terms;
  const counted = days == null ? (days === null ? null : before.expires_at) : at + days * daySeconds;
  const expires_at = terms.expires_at === undefined ? counted : terms.expires_at;
  const most = isAdministrative(known) ? mostDaysToAdminister : mostDays;
  const isOver = (end: number) => end !== before.expires_at && (end <= at || end > at + most * daySeconds);
  const isNoNumber =
    (days != null && !(Number.isInteger(days) && days >= 1 && days <= most)) ||
    (terms.expires_at != null && isOver(terms.expires_at));
  // Also when one that never ends is given more.
  if (isNoNumber || isEndless(known, expires_at, at)) {
    const key = isAdministrative(known) ? 'problem.service.expires_to_administer' : 'problem.service.expires';
    problems.push(fieldProblem('expires_in_days', { key, values: { max: most } }));
  }
  if (problems.length > 0) throw invalidFields(problems);
  return { permissions: known, products, addresses, expires_at };
}
