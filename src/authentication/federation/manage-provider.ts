import { formatUtc, newAdministratorUntil } from '../../accounts/administrators.ts';
import { listAdministrators } from '../../accounts/statements.ts';
import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict, mustChange } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { Edited } from '../../platform/edited.ts';
import { fieldProblem, invalidFields, invalidState, notFound, refusal } from '../../platform/errors.ts';
import { inEnglish } from '../../platform/i18n/translate.ts';
import { mailTo } from '../../platform/mail/letters.ts';
import { normalizeName } from '../../platform/text.ts';
import { asProvider, secretPurpose } from '../credentials/provider-register.ts';
import {
  deleteProvider,
  disableProvider,
  enableProvider,
  findLogoContent,
  findStoredProvider,
  insertProvider,
  listProviders,
  mostProviders,
  type ProviderLogo,
  type ProviderTerms,
  type ProviderWithSecret,
  updateLogo,
  updateProvider,
} from '../credentials/providers.store.ts';
import { maxLogoKb, maxLogoSide, providerLogoIdOf, readProviderLogo } from '../credentials/providers.ts';
import type { Deps } from '../deps.ts';
import { failureWords } from './failure-words.ts';
import { type ListedProvider, listedOf, type ProviderUse, useOfProvider } from './list-providers.ts';
import { type NewProvider, type ProviderChange, readNewProvider, termProblems } from './provider-rules.ts';
import { readIssuer, UpstreamFailure } from './upstream.ts';

// Providers of the store. Its operator may sign in as everyone who has linked it, and as everyone whose verified address it asserts:
// so adding one is as much as making an administrator, and the same people are notified.

export type ProviderDeps = Pick<
  Deps,
  'db' | 'clock' | 'config' | 'vault' | 'mail' | 'providers' | 'tracer' | 'outbound'
>;

/** By which the audit log names one: an id alone could be anything. */
export const targetOf = (id: string) => `provider:${id}`;

/**
 * Adds a provider, by which people can sign in on every node within a second. Its issuer is asked for its documents first.
 * @throws {RequestError} `invalid_request` with a problem for each field, also for an id or an issuer that is taken and for one whose
 * documents cannot be used; `access_denied` for a new administrator; `invalid_state` when there are too many.
 */
export async function createProvider(deps: ProviderDeps, caller: Caller, wanted: NewProvider): Promise<ListedProvider> {
  const { problems, issuer, label } = readNewProvider(deps, wanted);
  if (problems.length > 0) throw invalidFields(problems);
  await refuseNewAdministrator(deps, caller);
  const at = now(deps);
  const {
    id: provider_id,
    client_id,
    client_secret,
    groups_claim,
    scope,
    signals_secret_hash,
    signals_audience,
  } = wanted;
  const row: ProviderWithSecret = {
    ...{ provider_id, issuer, label, upstream_client_id: client_id },
    client_secret_sealed: deps.vault.seal(secretPurpose(provider_id), client_secret),
    ...{ groups_claim: groups_claim || null, scope: scope?.trim() || null },
    ...{ signals_secret_hash: signals_secret_hash || null, signals_audience: signals_audience || null },
    ...{ created_at: at, disabled_at: null, logo_id: null },
  };
  const taken = takenProblems(await listProviders(deps.db), row);
  if (taken.length > 0) throw invalidFields(taken);
  await requireUsableIssuer(deps, row);
  const after = { issuer, ...recorded(row) };
  const done = await deps.db.shared.change({
    run: {
      provider: mayConflict(mustChange(insertProvider(row))),
      mails: await mailsAbout(deps, 'provider_added', row),
      event: auditEvent({ action: 'provider.created', ...caller, target: targetOf(provider_id), after }, at).statement,
    },
  });
  deps.providers.forget();
  if (done.ok) return listedOf(deps, row);
  const others = takenProblems(await listProviders(deps.db), row);
  if (others.length > 0) throw invalidFields(others);
  throw refusal('invalid_state', { key: 'problem.provider.too_many', values: { max: mostProviders } });
}

/** Of its terms for the log, where a `client_id` would be that of a client here. */
const recorded = ({
  label,
  upstream_client_id,
  groups_claim,
  scope,
  signals_audience,
}: Omit<ProviderTerms, 'client_secret_sealed'>) => ({
  ...{ label, upstream_client_id, groups_claim, scope, signals_audience },
});

const takenProblems = (stored: readonly ProviderWithSecret[], { provider_id, issuer }: ProviderWithSecret) =>
  stored.flatMap((one) => {
    const values = { provider: one.label };
    if (one.provider_id === provider_id) return [fieldProblem('id', { key: 'problem.provider.taken', values })];
    return one.issuer === issuer ? [fieldProblem('issuer', { key: 'problem.provider.taken', values })] : [];
  });

/** @throws {RequestError} `invalid_request` for an issuer whose documents cannot be used. */
async function requireUsableIssuer(deps: ProviderDeps, row: ProviderWithSecret): Promise<void> {
  try {
    await readIssuer(deps, asProvider(deps.vault, row));
  } catch (error) {
    if (!(error instanceof UpstreamFailure)) throw error;
    const key = failureWords(error.reason);
    const said = inEnglish({ key, values: { provider: row.provider_id } });
    const userMessage = { key, values: { provider: row.label } };
    throw invalidFields([{ path: 'issuer', message: `${said} (${error.reason})`, userMessage }]);
  }
}

/** As for the approval of a client: else one stolen account would open all others within minutes. */
export async function refuseNewAdministrator(deps: Pick<Deps, 'db' | 'clock'>, { actor }: Caller): Promise<void> {
  if (!actor.startsWith('user:')) return;
  const until = await newAdministratorUntil(deps, actor.slice('user:'.length));
  if (until === undefined) return;
  const details = { details: { allowed_at: until } };
  throw refusal(
    'access_denied',
    { key: 'problem.provider.new_administrator', values: { when: formatUtc(until) } },
    details,
  );
}

const mailsAbout = async (
  deps: ProviderDeps,
  letter: 'provider_added' | 'provider_enabled',
  { label, issuer }: Pick<ProviderWithSecret, 'label' | 'issuer'>,
): Promise<Sql[]> =>
  (await listAdministrators(deps.db)).flatMap((one) => mailTo(deps, one, letter, { provider: label, issuer }));

/** @throws {RequestError} `not_found`; `invalid_state` for one of the settings. */
export async function requireStored(
  { db, config }: Pick<Deps, 'db' | 'config'>,
  id: string,
): Promise<ProviderWithSecret> {
  if (config.providers.some((one) => one.id === id))
    throw refusal(
      'invalid_state',
      { key: 'problem.provider.of_settings' },
      { details: { current_status: 'from_settings' } },
    );
  const stored = await findStoredProvider(db, id);
  if (!stored) throw notFound();
  return stored;
}

/**
 * What is left out stays as it is. Its id and issuer never change: identities are kept by them.
 * @throws {RequestError} `not_found`; `invalid_state` for one of the settings; `invalid_request` with a problem for each field;
 * `access_denied` for a new administrator.
 */
export async function editProvider(
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  wanted: ProviderChange,
): Promise<Edited<ListedProvider>> {
  const before = await requireStored(deps, id);
  const problems = termProblems(wanted);
  if (problems.length > 0) throw invalidFields(problems);
  await refuseNewAdministrator(deps, caller);
  const { label, client_id, client_secret, groups_claim, scope, signals_secret_hash, signals_audience } = wanted;
  const hasNewSecret = client_secret !== undefined && client_secret !== secretOf(deps, before);
  const given = {
    ...(label !== undefined && { label: normalizeName(label) }),
    ...(client_id !== undefined && { upstream_client_id: client_id }),
    ...(groups_claim !== undefined && { groups_claim: groups_claim || null }),
    ...(scope !== undefined && { scope: scope?.trim() || null }),
    ...(signals_secret_hash !== undefined && { signals_secret_hash: signals_secret_hash || null }),
    ...(signals_audience !== undefined && { signals_audience: signals_audience || null }),
  };
  const changed = Object.entries(given).filter(([name, value]) => before[name as keyof typeof given] !== value);
  if (changed.length === 0 && !hasNewSecret) return { after: listedOf(deps, before), isChanged: false };
  const sealed = hasNewSecret && { client_secret_sealed: deps.vault.seal(secretPurpose(id), client_secret) };
  const to = { ...Object.fromEntries(changed), ...sealed } as Partial<ProviderTerms>;
  const event = auditEvent(
    {
      ...{ action: 'provider.edited', ...caller, target: targetOf(id) },
      before: withoutDigest(Object.fromEntries(changed.map(([name]) => [name, before[name as keyof typeof given]]))),
      after: { ...withoutDigest(Object.fromEntries(changed)), ...(hasNewSecret && { secret_replaced: true }) },
    },
    now(deps),
  );
  const done = await deps.db.shared.change({
    run: { provider: mustChange(updateProvider(before, to)), event: event.statement },
  });
  deps.providers.forget();
  if (!done.ok) throw notFound();
  return { after: listedOf(deps, { ...before, ...to }), isChanged: true };
}

/** The log outlives a secret, and has its digest no more than it. */
const withoutDigest = ({ signals_secret_hash: hash, ...state }: Record<string, unknown>) => ({
  ...state,
  ...(hash !== undefined && { has_signals_secret: hash !== null }),
});

/**
 * The operator's own picture on its button.
 * @param file as it was sent, of which only what is drawn is kept; undefined: none any more.
 * @throws {RequestError} as {@link editProvider}.
 */
export async function setProviderLogo(
  deps: ProviderDeps,
  caller: Caller,
  id: string,
  file: Buffer | undefined,
): Promise<Edited<ListedProvider>> {
  const before = await requireStored(deps, id);
  const logo = file === undefined ? { logo_id: null, logo_type: null, logo: null } : logoIn(file);
  await refuseNewAdministrator(deps, caller);
  const { logo_id } = logo;
  if (logo_id === before.logo_id) return { after: listedOf(deps, before), isChanged: false };
  const event = auditEvent(
    {
      ...{ action: 'provider.edited', ...caller, target: targetOf(id) },
      before: { logo_id: before.logo_id },
      after: { logo_id },
    },
    now(deps),
  );
  const done = await deps.db.shared.change({
    run: { provider: mustChange(updateLogo(before, logo)), event: event.statement },
  });
  deps.providers.forget();
  if (!done.ok) throw notFound();
  return { after: listedOf(deps, { ...before, logo_id }), isChanged: true };
}

/** The picture that the store has for its button; null: none. */
export async function logoOfProvider({ db }: Pick<Deps, 'db'>, id: string) {
  const logo_id = (await findStoredProvider(db, id))?.logo_id ?? null;
  const found = logo_id === null ? undefined : await findLogoContent(db, logo_id);
  return logo_id !== null && found ? { logo_id, content: Buffer.from(found.content, 'base64') } : null;
}

/** @throws {RequestError} `invalid_request`. */
export function logoIn(file: Buffer): { [Member in keyof ProviderLogo]: string } {
  const found = file.length === 0 ? 'missing' : readProviderLogo(file);
  if (typeof found === 'string') {
    const key =
      found === 'shape' ? ('problem.provider.logo.shape' as const) : (`problem.brand.picture.${found}` as const);
    throw invalidFields([fieldProblem('content', { key, values: { kb: maxLogoKb, side: maxLogoSide } })]);
  }
  const { media_type, content } = found;
  return { logo_id: providerLogoIdOf(content), logo_type: media_type, logo: content.toString('base64') };
}

const secretOf = ({ vault }: Pick<Deps, 'vault'>, { provider_id, client_secret_sealed }: ProviderWithSecret) =>
  vault.open(secretPurpose(provider_id), client_secret_sealed);

/** The digest of what it pushes security events with; null: it sends none. */
export const signalsHashOf = async ({ db }: Pick<Deps, 'db'>, id: string): Promise<string | null> =>
  (await findStoredProvider(db, id))?.signals_secret_hash ?? null;

/** Whether it is this one. @throws {RequestError} `not_found`. */
export async function hasClientSecret(deps: Pick<Deps, 'db' | 'vault'>, id: string, secret: string): Promise<boolean> {
  const stored = await findStoredProvider(deps.db, id);
  return stored !== undefined && secretOf(deps, stored) === secret;
}

/**
 * From now on it signs no one in, on every node within a second. Sessions that began with it go on.
 * @throws {RequestError} `not_found`; `invalid_state` for one of the settings, and if it is disabled.
 */
export async function turnOff(deps: ProviderDeps, caller: Caller, id: string): Promise<ListedProvider> {
  const before = await requireStored(deps, id);
  const at = now(deps);
  const event = auditEvent({ action: 'provider.disabled', ...caller, target: targetOf(id) }, at).statement;
  const done = await deps.db.shared.change({ run: { provider: mustChange(disableProvider(before, at)), event } });
  deps.providers.forget();
  if (!done.ok) throw invalidState('disabled');
  return listedOf(deps, { ...before, disabled_at: at });
}

/** Its issuer is asked for its documents first. @throws {RequestError} as {@link createProvider}; `invalid_state` if it is enabled. */
export async function turnOn(deps: ProviderDeps, caller: Caller, id: string): Promise<ListedProvider> {
  const before = await requireStored(deps, id);
  await refuseNewAdministrator(deps, caller);
  if (before.disabled_at === null) throw invalidState('enabled');
  await requireUsableIssuer(deps, before);
  const event = auditEvent({ action: 'provider.enabled', ...caller, target: targetOf(id) }, now(deps)).statement;
  const done = await deps.db.shared.change({
    run: {
      provider: mustChange(enableProvider(before)),
      mails: await mailsAbout(deps, 'provider_enabled', before),
      event,
    },
  });
  deps.providers.forget();
  if (!done.ok) throw invalidState('enabled');
  return listedOf(deps, { ...before, disabled_at: null });
}

/**
 * Removes it. The identities stay: one who is added with the same issuer finds them.
 * @returns who signed in with it alone. @throws {RequestError} `not_found`; `invalid_state` for one of the settings.
 */
export async function removeProvider(deps: ProviderDeps, caller: Caller, id: string): Promise<ProviderUse> {
  const before = await requireStored(deps, id);
  const use = await useOfProvider(deps, before);
  const state = { issuer: before.issuer, ...recorded(before) };
  const event = auditEvent(
    {
      action: 'provider.deleted',
      ...caller,
      target: targetOf(id),
      before: state,
      after: { linked: use.linked, alone: use.alone },
    },
    now(deps),
  );
  const done = await deps.db.shared.change({
    run: { provider: mustChange(deleteProvider(before)), event: event.statement },
  });
  deps.providers.forget();
  if (!done.ok) throw notFound();
  return use;
}
