import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { approveHost, findHosts, removeHost } from '../../clients/from-outside/approved-hosts.ts';
import { answerOf } from '../../platform/edited.ts';
import { inCode, operation, Time } from '../../platform/http/operation.ts';
import { list, time } from '../../platform/report.ts';
import { Type } from '../../platform/schema.ts';
import { administration, strictBody } from '../operation-parts.ts';

const Host = Type.Object({
  host: Type.String({ description: 'With its port, if it has one.' }),
  allowed_scopes: Type.Array(Type.String(), { description: 'What a client of this host is allowed at most.' }),
  created_at: Time,
  updated_at: Time,
});

const one = (permission: AdministrativePermission) => ({
  ...administration(permission),
  parameters: { host: 'Host of metadata documents, such as `app.example.com`, with its port if it has one.' },
});

type ListedHost = { host: string; allowed_scopes: readonly string[]; updated_at: number };
const describe = (hosts: readonly ListedHost[]) =>
  list([
    ['HOST', 'SCOPES', 'CHANGED'],
    ...hosts.map(({ host, allowed_scopes, updated_at }) => [host, allowed_scopes.join(' '), time(updated_at)]),
  ]);

/** Hosts whose metadata documents are approved in advance. */
export const hostOperations = {
  listHosts: operation({
    ...administration('clients:read'),
    id: 'listClientHosts',
    method: 'GET',
    path: '/v1/admin/client-hosts',
    summary: 'List the hosts whose clients are approved in advance',
    answer: {
      description: 'By name, at most 500.',
      schema: Type.Object({ hosts: Type.Array(Host, { description: 'Each with its scopes.' }) }),
    },
    run: async (deps) => ({ hosts: await findHosts(deps) }),
    command: {
      name: 'clients hosts list',
      summary: 'List the hosts whose metadata documents are approved in advance.',
      text: ({ hosts }) => describe(hosts),
    },
  }),

  approveHost: operation({
    ...one('clients:approve'),
    id: 'approveClientHost',
    method: 'PUT',
    path: '/v1/admin/client-hosts/:host',
    summary: 'Approve in advance the clients of a host',
    description:
      'A client whose metadata document is at this host starts approved, with those of the scopes that it asks for, or with all of them if it ' +
      'names none. Its users are always asked for consent, and a later change of its document waits for a review. Clients that came before ' +
      'stay as they are. New administrators cannot do this for a day.',
    body: strictBody({
      allowed_scopes: Type.Array(Type.String(inCode({ minLength: 1, maxLength: 100 })), {
        minItems: 1,
        maxItems: 200,
        description: 'Scopes of Signet or of APIs.',
      }),
    }),
    example: { allowed_scopes: ['openid', 'offline_access'] },
    answer: { description: 'The host after the change.', schema: Host },
    refusals: ['access_denied'],
    run: async (deps, { caller, host, body: { allowed_scopes } }) =>
      answerOf(await approveHost(deps, caller, { host, allowed_scopes }), (after) => after),
    command: {
      name: 'clients hosts approve',
      summary: 'Approve in advance the clients whose metadata documents are at a host, with these scopes at most.',
      options: { scope: 'allowed_scopes' },
      text: (host) => describe([host]),
    },
  }),

  removeHost: operation({
    ...one('clients:approve'),
    id: 'removeClientHost',
    method: 'DELETE',
    path: '/v1/admin/client-hosts/:host',
    summary: 'Approve no further clients of a host in advance',
    description: 'Clients that are approved stay so.',
    answer: { description: 'Removed.' },
    refusals: ['not_found'],
    run: (deps, { caller, host }) => removeHost(deps, caller, host),
    command: {
      name: 'clients hosts remove',
      summary: 'Approve no further clients of a host in advance. Those that are approved stay so.',
      json: (_, { host }) => ({ removed: host }),
      text: (_, { host }) => `Further clients of ${host} wait for a review.`,
    },
  }),
};
