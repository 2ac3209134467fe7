import { setImmediate as letOthersRun } from 'node:timers/promises';
import type { Deps } from '../platform/deps.ts';
import { isLoopback } from '../platform/ip-address.ts';
import type { Client, ReviewedFields } from './client.ts';
import { areSimilar, containsName, looksAlike, nameSkeleton } from './name-skeleton.ts';
import { nameWarning } from './presentation.ts';
import type { Scope } from './scopes.ts';
import { type ComparedRow, readComparedClients, readRememberedSuspensions } from './store.ts';

/** What a reviewer should look at twice. Each has a message `risk.<code>`; honest clients show some of them, too. */
export const riskCodes = [
  'new_redirect_host',
  'owner_has_suspended_client',
  'suspended_client_name',
  'suspended_client_host',
  'name_resembles_client',
  'name_resembles_service',
  'mixed_scripts',
  'non_ascii_name',
  'punycode_host',
  'foreign_logo_host',
  'foreign_homepage_host',
  'sensitive_scope',
  'first_client',
  'public_several_hosts',
] as const;
export type RiskCode = (typeof riskCodes)[number];

export type Risk = {
  code: RiskCode;
  severity: 'notice' | 'warning';
  /** What it is about, each on its own: hosts, scopes, other names. Chosen by strangers: to be shown as text. */
  detail: readonly string[];
};

/** Another client, with what its name looks like and where it sends people. */
export type ComparedClient = Pick<Client, 'client_id' | 'owner_user_id' | 'name'> & {
  readonly skeleton: string;
  readonly hosts: readonly string[];
};

export const comparedClient = ({
  client_id,
  owner_user_id,
  name,
  redirect_uris,
}: Pick<Client, 'client_id' | 'owner_user_id' | 'name' | 'redirect_uris'>): ComparedClient => ({
  client_id,
  owner_user_id,
  name,
  skeleton: nameSkeleton(name),
  hosts: hostsOf(redirect_uris),
});

/** What is known beside the client itself. */
export type RiskContext = {
  /** This service's own name. */
  service: string;
  /** Clients that serve, the one under review included if it does. */
  approved: readonly ComparedClient[];
  /** Clients that served until an administrator stopped them, the ones that were deleted since included. */
  suspended: readonly ComparedClient[];
  approvedHosts: ReadonlySet<string>;
  /** Owners of a client that has passed a review, also if it was suspended later. */
  reviewedOwners: ReadonlySet<string | null>;
};

export const riskContextOf = (compared: Pick<RiskContext, 'service' | 'approved' | 'suspended'>): RiskContext => ({
  ...compared,
  approvedHosts: new Set(compared.approved.flatMap(({ hosts }) => hosts)),
  reviewedOwners: new Set([...compared.approved, ...compared.suspended].map(({ owner_user_id }) => owner_user_id)),
});

/** Scopes by which a client learns or keeps more than who somebody is. */
const sensitiveScopes: readonly Scope[] = ['entitlements:read', 'offline_access'];

/** The client as it would be once its reviewer says yes. */
const proposalOf = (client: Client): Client => ({ ...client, ...client.pending_change });

/** @param client as it is registered, with the change that waits. Warnings first. */
export function riskSignals(client: Client, context: RiskContext): Risk[] {
  const proposal = proposalOf(client);
  const hosts = hostsOf(proposal.redirect_uris);
  const risks = [
    ...suspendedRisks(proposal, hosts, context),
    ...nameRisks(proposal, context),
    ...hostRisks(client, hosts, context),
    ...presentationRisks(proposal, hosts),
    ...notice(
      'sensitive_scope',
      sensitiveScopes.filter((scope) => proposal.allowed_scopes.includes(scope)),
    ),
    ...firstClientRisk(client, context),
  ];
  return [
    ...risks.filter(({ severity }) => severity === 'warning'),
    ...risks.filter(({ severity }) => severity === 'notice'),
  ];
}

/** Whoever was stopped and begins again, and whoever goes on under what somebody else was stopped for. */
function suspendedRisks(
  { client_id, owner_user_id, name }: Client,
  hosts: readonly string[],
  { suspended }: RiskContext,
): Risk[] {
  const others = suspended.filter((other) => other.client_id !== client_id);
  const skeleton = nameSkeleton(name);
  const ofOwner = others.filter((other) => owner_user_id !== null && other.owner_user_id === owner_user_id);
  return [
    ...warning('owner_has_suspended_client', firstNames(ofOwner)),
    ...warning('suspended_client_name', firstNames(others.filter((other) => areSimilar(skeleton, other.skeleton)))),
    ...warning(
      'suspended_client_host',
      hosts.filter((host) => others.some((other) => other.hosts.includes(host))),
    ),
  ];
}

/** Each once, and a few: what a reviewer reads, and not a list to get lost in. */
const firstNames = (clients: readonly ComparedClient[]): string[] =>
  [...new Set(clients.map(({ name }) => name))].slice(0, 5);

function nameRisks({ name, client_id, owner_user_id }: Client, { service, approved }: RiskContext): Risk[] {
  const skeleton = nameSkeleton(name);
  const alike = approved
    .filter((other) => other.client_id !== client_id)
    .filter((other) => owner_user_id === null || other.owner_user_id !== owner_user_id)
    // A short name is a word that many names hold.
    .filter((other) => areSimilar(skeleton, other.skeleton) || containsName(skeleton, other.skeleton, 6));
  const isService = looksAlike(name, service) || containsName(skeleton, nameSkeleton(service), 4);
  return [
    ...warning('name_resembles_client', firstNames(alike)),
    ...warning('name_resembles_service', isService ? [service] : []),
    ...warning('mixed_scripts', nameWarning(name) === undefined ? [] : [name]),
    ...notice('non_ascii_name', /^[\x20-\x7e]*$/.test(name) ? [] : [name]),
  ];
}

function hostRisks(client: Client, hosts: readonly string[], context: RiskContext): Risk[] {
  const unknown = hosts.filter((host) => !context.approvedHosts.has(host));
  // A client that people already trust, and that now wants their codes sent elsewhere, is the thing to stop at.
  const asNew = client.status === 'approved' ? warning : notice;
  return [
    ...asNew('new_redirect_host', unknown),
    ...notice('public_several_hosts', client.client_type === 'public' && hosts.length > 1 ? hosts : []),
  ];
}

/** A logo or homepage of another host borrows somebody's looks, or tells them who signs in. */
function presentationRisks({ logo_url, homepage_url }: ReviewedFields, hosts: readonly string[]): Risk[] {
  const untrusted = (url: string | null) => hostsOf([url ?? '']).filter((host) => !hosts.includes(host));
  const all = new Set([...hosts, ...untrusted(logo_url), ...untrusted(homepage_url)]);
  return [
    ...notice('foreign_logo_host', untrusted(logo_url)),
    ...notice('foreign_homepage_host', untrusted(homepage_url)),
    // What a browser may draw in letters that look like other ones (RFC 3492).
    ...warning(
      'punycode_host',
      [...all].filter((host) => /(^|\.)xn--/.test(host)),
    ),
  ];
}

/** Nothing else of this owner has ever passed a review. */
function firstClientRisk({ owner_user_id }: Client, { reviewedOwners }: RiskContext): Risk[] {
  return owner_user_id === null || reviewedOwners.has(owner_user_id) ? [] : notice('first_client', [owner_user_id]);
}

const risk =
  (severity: Risk['severity']) =>
  (code: RiskCode, details: readonly string[]): Risk[] =>
    details.length === 0 ? [] : [{ code, severity, detail: details }];
const warning = risk('warning');
const notice = risk('notice');

/** Each once. A person's own machine is nobody's host. */
function hostsOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) => plainHost.exec(url)?.[1] ?? URL.parse(url)?.hostname.replace(/\.$/, '') ?? '');
  return [...new Set(hosts)].filter((host) => host !== '' && !host.endsWith('.localhost') && !isLoopback(host));
}

/** As nearly all are written: a hundred thousand of them are read for one review, and a parser takes a second for that. */
const plainHost = /^https:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z-][a-z0-9-]*)(?::\d+)?(?:[/?]|$)/;

/** Names and hosts of that many clients in each state are compared with; beyond, the oldest. */
const maxCompared = 5000;

/** The first review of a process works all of them out: some ten milliseconds at a time. */
const rowsAtOnce = 200;

/** @returns reads what clients under review are compared with, once however many there are. */
export type ReadRiskContext = () => Promise<RiskContext>;

/** Skeletons and hosts of thousands of clients are kept, and worked out again only for those that have changed. */
export function openRiskContext({ db, config }: Pick<Deps, 'db' | 'config'>): ReadRiskContext {
  const known = new Map<string, { version: string; client: ComparedClient }>();

  async function compared(rows: readonly ComparedRow[]): Promise<ComparedClient[]> {
    if (known.size > 4 * maxCompared) known.clear(); // clients that are gone
    const clients: ComparedClient[] = [];
    for (const row of rows) {
      const before = known.get(row.client_id);
      const client = before?.version === row.version ? before.client : comparedClient(row);
      known.set(row.client_id, { version: row.version, client });
      if (clients.push(client) % rowsAtOnce === 0) await letOthersRun();
    }
    return clients;
  }

  return async () => {
    const [approved, suspended, remembered] = await Promise.all([
      readComparedClients(db, 'approved', maxCompared),
      readComparedClients(db, 'suspended', maxCompared),
      readRememberedSuspensions(db, maxCompared),
    ]);
    return riskContextOf({
      service: config.brand.name,
      approved: await compared(approved),
      suspended: await compared([...suspended, ...remembered]),
    });
  };
}
