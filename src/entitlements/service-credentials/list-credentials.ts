import type { Deps } from '../../platform/deps.ts';
import type { ServiceCredential } from './service-credential.ts';
import { listCredentials } from './store.ts';

/** All of them, retired ones too, oldest first, never with a secret. */
export const allCredentials = (deps: Pick<Deps, 'db'>): Promise<ServiceCredential[]> => listCredentials(deps.db);
