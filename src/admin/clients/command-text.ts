import { secondFactorOf } from '../../clients/choices.ts';
import { hasPendingChange, needsReview, type ReviewedRecord } from '../../clients/client.ts';
import { type FieldName, fieldNames, fieldOf } from '../../clients/fields.ts';
import { describeKeys, type KeySet } from '../../clients/keys/key-set.ts';
import { type LogoState, logoProblemText } from '../../clients/logos.ts';
import type { FieldChange, LastRejection, reviewRecord } from '../../clients/read-review.ts';
import type { Risk } from '../../clients/risk-signals.ts';
import type { ClientUsage } from '../../oauth/grants/grants.ts';
import { inEnglish } from '../../platform/i18n/translate.ts';
import { list, table, time } from '../../platform/report.ts';

export const describeClient = (client: ReviewedRecord): string =>
  table([
    ['Client', client.client_id],
    ['Type', client.client_type],
    ['Status', client.status],
    ['Last reason', client.status_reason],
    ['Note to reviewer', client.note_to_reviewer],
    ['Revision', client.revision],
    ...fieldNames.map((name) => [inEnglish({ key: `clients.field.${name}` }), valueText(client, name)] as const),
    ['Consent', `${client.consent} (${client.consent === 'skip' ? 'users are not asked' : 'each user is asked once'})`],
    ['Retry window', `${client.refresh_retry_window} s`],
    ['Security profile', client.profile],
    ['Only for groups', client.allowed_groups?.join(' ') ?? null],
    ['Sees only groups', client.visible_groups?.join(' ') ?? null],
    ['Picture', client.logo_id],
    ['Owner', client.owner_user_id],
    ['Came by itself, by', client.origin],
    ['Pending change', client.pending_change && JSON.stringify(client.pending_change)],
    ['Registered', time(client.created_at)],
  ]);

function valueText(client: ReviewedRecord, name: FieldName) {
  const { control } = fieldOf(name);
  if (control.kind === 'second_factor') return secondFactorOf(client[name as 'default_acr_values']);
  if (control.kind === 'json') return describeKeys(client[name as 'jwks']);
  const value = client[name as Exclude<FieldName, 'jwks'>];
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return value ?? (control.kind === 'choice' ? control.unset : null) ?? null;
}

export const describeLogo = ({ url, picture_id, media_type, width, height, bytes, ...logo }: LogoState): string =>
  table([
    ['Address', url],
    ['Picture', picture_id],
    ['File', picture_id && `${media_type}, ${width} × ${height} pixels, ${bytes} bytes`],
    ['Fetched', logo.fetched_at === null ? null : time(logo.fetched_at)],
    ['Problem', logo.problem && inEnglish(logoProblemText(logo))],
    ['Users see it', logo.is_shown ? 'yes' : 'no'],
  ]);

/** Untrusted values are printed as JSON, so that no character of them reaches the terminal as a command. */
const printed = (value: unknown) => JSON.stringify(value);

export function describeReview(review: ReturnType<typeof reviewRecord> & { usage: ClientUsage }): string {
  const { users, users_is_minimum, last_sign_in_at } = review.usage;
  const usage = table([
    ['Users with access', `${users_is_minimum ? 'at least ' : ''}${users}`],
    ['Last sign-in', last_sign_in_at === null ? 'none known' : time(last_sign_in_at)],
    ...(review.logo ? [['Logo', logoLine(review.logo)] as const] : []),
  ]);
  const lines = [
    ...review.changes.flatMap(changeLines),
    ...review.risks.map(
      ({ code, severity, detail, more }) =>
        `  ${severity}  ${code}  ${detail.map(printed).join(', ')}${more === undefined ? '' : ` and ${more} more`}`,
    ),
    ...(review.last_rejection ? rejectionLines(review.last_rejection) : []),
    ...(needsReview(review)
      ? [
          '',
          `To approve exactly this: signet clients approve ${review.client_id} --revision ${review.revision}${review.owner_user_id === null ? '' : ' --consent required'}`,
        ]
      : []),
  ];
  return [describeClient(review), usage, ...(lines.length > 0 ? ['', ...lines] : [])].join('\n');
}

const logoLine = ({ picture_id, problem, detail, is_shown }: LogoState): string => {
  if (picture_id === null)
    return problem === null ? 'not fetched yet' : inEnglish(logoProblemText({ problem, detail }));
  return is_shown ? `${picture_id}, which users see` : picture_id;
};

const changeLines = ({ field, before, after }: FieldChange) => [
  `  ${field}`,
  `    - ${printed(comparable(before))}`,
  `    + ${printed(comparable(after))}`,
];

/** Keys are compared by their thumbprints. */
const comparable = (value: unknown) =>
  typeof value === 'object' && value !== null && 'keys' in value ? describeKeys(value as KeySet) : value;

const rejectionLines = ({ at, revision, reason, changes }: LastRejection) => [
  `  Revision ${revision} was rejected ${time(at)}: ${printed(reason)}`,
  ...(changes.length > 0 ? ['  Changed since:', ...changes.flatMap(changeLines)] : ['  Nothing has changed since.']),
];

type Assessed = { readonly risks?: readonly Pick<Risk, 'severity'>[] };
type Listed = {
  readonly clients: readonly (Omit<ReviewedRecord, 'allowed_scopes' | 'allowed_groups' | 'visible_groups'> &
    Assessed)[];
  readonly next: string | null;
  readonly complete: boolean;
};

export function describeList(
  { clients, next, complete }: Listed,
  { query, status }: { query?: string; status?: string },
): string {
  const incomplete = complete
    ? []
    : ['The search does not cover all clients yet. Until it does, look for a client ID, or for the owner.'];
  if (clients.length === 0 && query && next === null) {
    const state = status === 'all' ? 'in any state' : `listed as ${status}`;
    const none = `No client ${state} has words that begin like ${printed(query)} in its name, in its owner's name or email address, or that ID.`;
    return [none, ...incomplete].join('\n\n');
  }
  const rows = clients.map((client) => [
    client.client_id,
    client.status + (hasPendingChange(client) ? ', change pending' : ''),
    `r${client.revision}`,
    client.client_type,
    riskCount(client.risks),
    client.name,
  ]);
  const listed = list([['CLIENT', 'STATUS', 'REVISION', 'TYPE', 'RISKS', 'NAME'], ...rows]);
  return [listed, ...incomplete, ...(next === null ? [] : [`More results: --after ${next}`])].join('\n\n');
}

/** Risks are assessed only where a review waits. */
function riskCount(risks: Assessed['risks']): string {
  if (risks === undefined) return '-';
  const warnings = risks.filter(({ severity }) => severity === 'warning').length;
  const notices = risks.length - warnings;
  const counted = [warnings > 0 && counting(warnings, 'warning'), notices > 0 && counting(notices, 'notice')];
  return counted.filter(Boolean).join(', ') || 'none';
}
const counting = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
