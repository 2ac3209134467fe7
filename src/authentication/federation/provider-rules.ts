import { type FieldProblem, fieldProblem } from '../../platform/errors.ts';
import { inEnglish } from '../../platform/i18n/translate.ts';
import { normalizeName } from '../../platform/text.ts';
import {
  idPattern,
  isAudience,
  isClaimName,
  isHash,
  isLabel,
  isScope,
  knownIssuer,
  type ProviderSettings,
  spelledIssuer,
} from '../credentials/providers.ts';

// What an administrator or a file may say of a provider.

export type NewProvider = {
  id: string;
  /** Left out: that of the built-in provider of this id. */
  issuer?: string | undefined;
  label?: string | undefined;
  client_id: string;
  client_secret: string;
  groups_claim?: string | null | undefined;
  scope?: string | null | undefined;
  /** SHA-256 in base64url of what it pushes security events with; null: it sends none. */
  signals_secret_hash?: string | null | undefined;
  /** `aud` of them; null: the `client_id`. */
  signals_audience?: string | null | undefined;
};

/** 1 to 255 visible ASCII characters (RFC 6749 appendix A). */
export const longestClientId = 255;
export const longestSecret = 2000;
export const longestIssuer = 500;

/** RFC 6749 appendix A.2. */
export const secretProblem = (secret: string): string | undefined =>
  /^[\x20-\x7e]+$/.test(secret) && secret.length <= longestSecret
    ? undefined
    : inEnglish({ key: 'problem.provider.client_secret', values: { max: longestSecret } });

/** What may be changed of one. */
export type ProviderChange = Partial<
  Pick<
    NewProvider,
    'label' | 'client_id' | 'client_secret' | 'groups_claim' | 'scope' | 'signals_secret_hash' | 'signals_audience'
  >
>;

export function termProblems(change: ProviderChange): FieldProblem[] {
  const { label, client_id, client_secret, groups_claim, scope, signals_secret_hash, signals_audience } = change;
  const checks: [string, boolean, Parameters<typeof fieldProblem>[1]][] = [
    ['label', label === undefined || isLabel(label), { key: 'problem.provider.label' }],
    [
      'client_id',
      client_id === undefined || (/^[\x20-\x7e]+$/.test(client_id) && client_id.length <= longestClientId),
      { key: 'problem.provider.client_id', values: { max: longestClientId } },
    ],
    [
      'client_secret',
      client_secret === undefined || secretProblem(client_secret) === undefined,
      { key: 'problem.provider.client_secret', values: { max: longestSecret } },
    ],
    ['groups_claim', !groups_claim || isClaimName(groups_claim), { key: 'problem.provider.groups_claim' }],
    ['scope', !scope || isScope(scope), { key: 'problem.provider.scope' }],
    [
      'signals_secret_hash',
      !signals_secret_hash || isHash(signals_secret_hash),
      { key: 'problem.provider.signals_secret_hash' },
    ],
    [
      'signals_audience',
      !signals_audience || isAudience(signals_audience),
      { key: 'problem.provider.signals_audience' },
    ],
  ];
  return checks.flatMap(([path, isFine, message]) => (isFine ? [] : [fieldProblem(path, message)]));
}

/** What can be said of a new one without a request. */
export function readNewProvider(
  { config }: { config: ProviderSettings },
  wanted: Omit<NewProvider, 'client_secret'> & { client_secret?: string },
): { problems: FieldProblem[]; issuer: string; label: string } {
  const { id, issuer: given = knownIssuer(id)?.issuer ?? '', label = knownIssuer(id)?.label ?? '' } = wanted;
  const issuer = given.length > longestIssuer ? undefined : spelledIssuer(given);
  const problems = termProblems({ ...wanted, label });
  if (!new RegExp(idPattern).test(id)) problems.unshift(fieldProblem('id', { key: 'problem.provider.id' }));
  if (issuer === undefined) problems.push(fieldProblem('issuer', { key: 'problem.provider.issuer' }));
  for (const one of config.providers) {
    const values = { provider: one.label };
    if (one.id === id) problems.push(fieldProblem('id', { key: 'problem.provider.in_settings', values }));
    else if (one.issuer === issuer)
      problems.push(fieldProblem('issuer', { key: 'problem.provider.in_settings', values }));
  }
  return { problems, issuer: issuer ?? '', label: normalizeName(label) };
}
