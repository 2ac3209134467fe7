import { setImmediate as letOthersRun } from 'node:timers/promises';
import { now } from '../platform/clock.ts';
import type { Deps } from '../platform/deps.ts';
import { isLoopback } from '../platform/ip-address.ts';
import { type Client, proposalOf, type ReviewedFields } from './client.ts';
import {
  type ComparedRow,
  newestComparedChange,
  readComparedClients,
  readRememberedSuspensions,
} from './compared.store.ts';
import { linkFields } from './fields.ts';
import { areSimilar, containsName, looksAlike, nameSkeleton } from './name-skeleton.ts';
import { mixesScripts } from './presentation.ts';
import { destinationOf, isPrivateUse } from './redirect-uri.ts';
import { isBuiltInScope, weightyScopes } from './scopes.ts';

/** What a reviewer should look at twice. Each has a message `risk.<code>`; honest clients show some of them, too. */
export const riskCodes = [
  'new_redirect_host',
  'new_key_host',
  'new_start_host',
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
  'private_use_scheme',
] as const;
export type RiskCode = (typeof riskCodes)[number];

const severities = ['warning', 'notice'] as const;

export type Risk = {
  code: RiskCode;
  severity: (typeof severities)[number];
  /** Hosts, scopes or names that it is about. Chosen by owners of clients: to be shown as text. */
  detail: readonly string[];
  /** How many it is about besides those in `detail`; left out for none. */
  more?: number;
};

type Named = Pick<Client, 'client_id' | 'owner_user_id' | 'name'>;
type Redirects = Pick<Client, 'redirect_uris' | 'post_logout_redirect_uris'>;
/** Another client, with the skeleton of its name and where it has browsers redirected to. */
type ComparedClient = Named & { readonly skeleton: string; readonly hosts: readonly string[] };

export const comparedClient = ({ client_id, owner_user_id, name, ...uris }: Named & Redirects): ComparedClient => ({
  client_id,
  owner_user_id,
  name,
  skeleton: nameSkeleton(name),
  hosts: redirectHosts(uris),
});

/** What a client under review is compared with. */
type RiskContext = {
  /** This service's own name. */
  service: string;
  /** May include the client under review. */
  approved: readonly ComparedClient[];
  /** With the ones that were deleted since. */
  suspended: readonly ComparedClient[];
  approvedHosts: ReadonlySet<string>;
  /** Owners of a client that was approved once, also if it was suspended later. */
  reviewedOwners: ReadonlySet<string | null>;
};

export const riskContextOf = (compared: Pick<RiskContext, 'service' | 'approved' | 'suspended'>): RiskContext => ({
  ...compared,
  approvedHosts: new Set(compared.approved.flatMap(({ hosts }) => hosts)),
  reviewedOwners: new Set([...compared.approved, ...compared.suspended].map(({ owner_user_id }) => owner_user_id)),
});

/** By the event of the client's newest change. To compare one with thousands takes milliseconds, and a page has fifty. */
const signalsIn = new WeakMap<RiskContext, Map<string, Risk[]>>();

/** As {@link riskSignals}, computed once for a stored client in one context. */
export function riskSignalsOnce(client: Client, context: RiskContext): Risk[] {
  const signals = signalsIn.get(context) ?? new Map<string, Risk[]>();
  signalsIn.set(context, signals);
  const risks = signals.get(client.event_id) ?? riskSignals(client, context);
  if (signals.size < maxCompared) signals.set(client.event_id, risks);
  return risks;
}

/** Of the client as it will be if its reviewer approves it; warnings first. */
export function riskSignals(client: Client, context: RiskContext): Risk[] {
  const proposal = proposalOf(client);
  const hosts = redirectHosts(proposal);
  const risks = [
    ...suspendedRisks(proposal, hosts, context),
    ...nameRisks(proposal, context),
    ...hostRisks(client, hosts, context),
    ...presentationRisks(proposal, hosts),
    ...notice(
      'sensitive_scope',
      proposal.allowed_scopes.filter((scope) => !isBuiltInScope(scope) || weightyScopes.includes(scope)),
    ),
    ...notice('public_several_hosts', client.client_type === 'public' ? severalHosts(proposal) : []),
    ...notice('private_use_scheme', [...new Set(proposal.redirect_uris.filter(isPrivateUse).map(destinationOf))]),
    ...firstClientRisk(client, context),
  ];
  return risks.toSorted((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity));
}

/** An owner whose client was suspended, and the name or host of a suspended client. */
function suspendedRisks(
  { client_id, owner_user_id, name }: Client,
  hosts: readonly string[],
  { suspended }: RiskContext,
): Risk[] {
  const others = suspended.filter((other) => other.client_id !== client_id);
  const skeleton = nameSkeleton(name);
  const ofOwner = others.filter((other) => owner_user_id !== null && other.owner_user_id === owner_user_id);
  return [
    ...warning('owner_has_suspended_client', namesOf(ofOwner)).map(withFirst),
    ...warning('suspended_client_name', namesOf(others.filter((other) => areSimilar(skeleton, other.skeleton)))).map(
      withFirst,
    ),
    ...warning(
      'suspended_client_host',
      hosts.filter((host) => others.some((other) => other.hosts.includes(host))),
    ),
  ];
}

const maxNamed = 5;

const namesOf = (clients: readonly ComparedClient[]): string[] => [...new Set(clients.map(({ name }) => name))];

/** Of a list of names, the first: an attacker may register any number that are alike. */
const withFirst = ({ detail, ...risk }: Risk): Risk => ({
  ...risk,
  detail: detail.slice(0, maxNamed),
  ...(detail.length > maxNamed && { more: detail.length - maxNamed }),
});

function nameRisks({ name, client_id, owner_user_id }: Client, { service, approved }: RiskContext): Risk[] {
  const skeleton = nameSkeleton(name);
  const alike = approved
    .filter((other) => other.client_id !== client_id)
    .filter((other) => owner_user_id === null || other.owner_user_id !== owner_user_id)
    // A short name is a word that many names contain.
    .filter((other) => areSimilar(skeleton, other.skeleton) || containsName(skeleton, other.skeleton, 6));
  const isService = looksAlike(name, service) || containsName(skeleton, nameSkeleton(service), 4);
  return [
    ...warning('name_resembles_client', namesOf(alike)).map(withFirst),
    ...warning('name_resembles_service', isService ? [service] : []),
    ...warning('mixed_scripts', mixesScripts(name) ? [name] : []),
    ...notice('non_ascii_name', /^[\x20-\x7e]*$/.test(name) ? [] : [name]),
  ];
}

function hostRisks(client: Client, hosts: readonly string[], context: RiskContext): Risk[] {
  const unknown = hosts.filter((host) => !context.approvedHosts.has(host));
  // Users trust an approved client already, and it would have their codes sent elsewhere.
  const asNew = client.status === 'approved' ? warning : notice;
  const { jwks_uri, initiate_login_uri } = proposalOf(client);
  const elsewhere = (url: string | null) =>
    hostsOf(url === null ? [] : [url]).filter((host) => !hosts.includes(host) && !context.approvedHosts.has(host));
  return [
    ...asNew('new_redirect_host', unknown),
    ...asNew('new_key_host', elsewhere(jwks_uri)),
    ...asNew('new_start_host', elsewhere(initiate_login_uri)),
  ];
}

function severalHosts({ redirect_uris }: ReviewedFields): string[] {
  const hosts = hostsOf(redirect_uris.filter((uri) => !isPrivateUse(uri)));
  return hosts.length > 1 ? hosts : [];
}

/** A logo or homepage on another host may imitate that site. */
function presentationRisks(client: ReviewedFields, hosts: readonly string[]): Risk[] {
  const own = hostsOf(client.redirect_uris);
  const untrusted = (url: string | null) => hostsOf([url ?? '']).filter((host) => !own.includes(host));
  const all = new Set([...hosts, ...linkFields.flatMap((name) => untrusted(client[name]))]);
  return [
    ...notice('foreign_logo_host', untrusted(client.logo_url)),
    ...notice('foreign_homepage_host', untrusted(client.homepage_url)),
    // A browser may show it in letters that look like other ones (RFC 3492).
    ...warning(
      'punycode_host',
      [...all].filter((host) => /(^|\.)xn--/.test(host)),
    ),
  ];
}

/** No other client of this owner was ever approved. */
const firstClientRisk = ({ owner_user_id }: Client, { reviewedOwners }: RiskContext): Risk[] =>
  owner_user_id === null || reviewedOwners.has(owner_user_id) ? [] : notice('first_client', [owner_user_id]);

const risk =
  (severity: Risk['severity']) =>
  (code: RiskCode, details: readonly string[]): Risk[] =>
    details.length === 0 ? [] : [{ code, severity, detail: details }];
const warning = risk('warning');
const notice = risk('notice');

/** Where a client has browsers redirected to, with a code or after a sign-out. */
const redirectHosts = ({ redirect_uris, post_logout_redirect_uris }: Redirects): string[] =>
  hostsOf([...redirect_uris, ...post_logout_redirect_uris]);

/** Private-use schemes among them. Without loopback hosts, which are the user's own machine. */
function hostsOf(urls: readonly string[]): string[] {
  const hosts = urls.map((url) =>
    isPrivateUse(url)
      ? destinationOf(url)
      : (plainHost.exec(url)?.[1] ?? URL.parse(url)?.hostname.replace(/\.$/, '') ?? ''),
  );
  return [...new Set(hosts)].filter((host) => host !== '' && !host.endsWith('.localhost') && !isLoopback(host));
}

/** Matches nearly all. One review reads a hundred thousand URLs, for which a parser takes a second. */
const plainHost = /^https:\/\/([a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z-][a-z0-9-]*)(?::\d+)?(?:[/?]|$)/;

/** Of each status; the oldest ones. */
const maxCompared = 5000;

/** The first review of a process computes all of them, which blocks for some ten milliseconds at a time. */
const rowsAtOnce = 200;

export type ReadRiskContext = () => Promise<RiskContext>;

/** Seconds. Where the clock of another node is behind, its newest change may not look like one. */
const contextKeptSeconds = 60;

/**
 * Skeletons and hosts of thousands of clients are cached, and computed again for those that have changed. The whole is kept
 * while none has changed.
 */
export function openRiskContext(deps: Pick<Deps, 'db' | 'config' | 'clock'>): ReadRiskContext {
  const { db, config } = deps;
  const known = new Map<string, ComparedClient & Pick<ComparedRow, 'version'>>();

  async function compared(rows: readonly ComparedRow[]): Promise<ComparedClient[]> {
    if (known.size > 4 * maxCompared) known.clear(); // deleted clients
    const clients: ComparedClient[] = [];
    for (const row of rows) {
      const cached = known.get(row.client_id);
      const client = cached?.version === row.version ? cached : { ...comparedClient(row), version: row.version };
      known.set(row.client_id, client);
      if (clients.push(client) % rowsAtOnce === 0) await letOthersRun();
    }
    return clients;
  }

  let kept: { context: RiskContext; changedAt: number; readAt: number } | undefined;

  return async () => {
    const readAt = now(deps);
    const changedAt = await newestComparedChange(db);
    const age = readAt - (kept?.readAt ?? 0);
    // Another change may be of the same second as the newest one that was seen.
    const isCurrent = kept?.changedAt === changedAt && changedAt < kept.readAt - 1;
    if (kept && isCurrent && age >= 0 && age < contextKeptSeconds) return kept.context;
    const [approved, suspended, remembered] = await Promise.all([
      readComparedClients(db, 'approved', maxCompared),
      readComparedClients(db, 'suspended', maxCompared),
      readRememberedSuspensions(db, maxCompared),
    ]);
    const context = riskContextOf({
      service: config.brand.name,
      approved: await compared(approved),
      suspended: await compared([...suspended, ...remembered]),
    });
    kept = { context, changedAt, readAt };
    return context;
  };
}
