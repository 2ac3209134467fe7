import { AsyncLocalStorage } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import type { RequestSpan } from '../tracing.ts';

/** One request, for all code that runs in its course, timers and callbacks included. */
export type CurrentRequest = {
  readonly response: ServerResponse;
  /** Once its headers were looked at. Behind a proxy it costs some time to find the address. */
  requester?: { readonly ip: string };
  /** Under which it is logged and traced: its answer and its audit events bear it, too. Empty if it is neither. */
  id: string;
  /** Something was changed, so that a refusal must not say otherwise. */
  hasChanged: boolean;
  /** Until it is answered; undefined without traces. */
  span?: RequestSpan;
};

export const currentRequest = new AsyncLocalStorage<CurrentRequest>();
