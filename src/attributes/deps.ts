import type { Deps as DeliveryDeps } from '../deliveries/deps.ts';
import type { Attributes } from './register.ts';

export type Deps = DeliveryDeps & {
  /** The attributes of users that administrators have defined. */
  readonly attributes: Attributes;
};
