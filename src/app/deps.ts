/** All that the process opens at its start and closes at its end, see `open-deps.ts`. */
export type { Deps } from '../oauth/deps.ts';
