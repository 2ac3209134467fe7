import { actorsSince } from '../../audit/read-log.ts';
import type { StoreDeps } from '../../platform/deps.ts';

const did = ['service_credential.created', 'service_credential.rotated', 'service_credential.restricted'] as const;

/**
 * The users who got a secret of a service credential, or decided what it may do, could have acted by it: where two have to agree,
 * they and it are one. Empty for any other actor.
 */
export const holdersOf = async (deps: Pick<StoreDeps, 'db'>, actor: string): Promise<readonly string[]> =>
  actor.startsWith('service:') ? actorsSince(deps, actor.slice('service:'.length), { did }) : [];
