import type { Kind } from './costs.ts';

/** `refused`: with 503. `lost`: its node was. */
export type Outcome = 'answered' | 'refused' | 'lost';

export type Change = {
  readonly kind: Kind;
  /** What can be done as soon as its result is known, which calls back: signing. */
  readonly prepare: (ready: () => void) => void;
  readonly done: (outcome: Outcome) => void;
};

/** What a process sees of its store. */
export type Store = {
  read(read: Pick<Change, 'kind' | 'done'>): void;
  change(change: Change): void;
  /** Requests that wait for it. */
  readonly waiting: number;
};
