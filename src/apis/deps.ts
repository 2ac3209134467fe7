import type { Deps as AuthenticationDeps } from '../authentication/deps.ts';
import type { Apis } from './register.ts';

export type Deps = AuthenticationDeps & {
  /** The APIs that tokens may be for. */
  readonly apis: Apis;
};
