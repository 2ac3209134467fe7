import { approveHost, findHosts, isHost, removeHost } from '../../clients/from-outside/approved-hosts.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { inCode } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import type { Kind, State } from '../kind.ts';

export const ClientHostEntry = Type.Object(
  {
    host: Type.Optional(
      Type.String({
        description: 'With its port, if it has one. Left out: the key of the entry. It cannot be changed.',
        ...inCode({ minLength: 1, maxLength: 255 }),
      }),
    ),
    allowed_scopes: Type.Array(Type.String(), {
      minItems: 1,
      uniqueItems: true,
      maxItems: 200,
      description: 'The scopes that clients of this host get at most, those of APIs in these files among them.',
    }),
  },
  { additionalProperties: false },
);

const wanted = (state: State) => state as { host: string; allowed_scopes: string[] };

/** Hosts whose clients, which come by a metadata document, start approved. */
export const clientHosts: Kind = {
  name: 'client_hosts',
  fixed: ['host'],
  isUnique: true,
  recognizedBy: ({ host }) => String(host),
  nameOf: ({ host }) => String(host),
  members: Object.keys(ClientHostEntry.properties),
  list: async (deps) =>
    (await findHosts(deps)).map(({ host, allowed_scopes }) => ({
      id: host,
      state: { host, allowed_scopes: [...allowed_scopes].sort() },
    })),
  read(_deps, entry, _context, key) {
    const { host: typed = key, allowed_scopes } = entry as Static<typeof ClientHostEntry>;
    const host = typed.trim().toLowerCase();
    if (!isHost(host)) throw invalidFields([fieldProblem('host', { key: 'problem.host' })]);
    return { host, allowed_scopes: [...allowed_scopes].sort() };
  },
  usesSecret: () => false,
  async create({ deps, caller }, state, made) {
    await made((await approveHost(deps, caller, wanted(state))).after.host);
    return undefined;
  },
  async change({ deps, caller }, _existing, state) {
    await approveHost(deps, caller, wanted(state));
    return undefined;
  },
  remove: ({ deps, caller }, { id }) => removeHost(deps, caller, id),
  write: ({ host, allowed_scopes }, key) => ({ ...(host !== key && { host }), allowed_scopes }),
};
