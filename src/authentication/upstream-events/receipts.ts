import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { addressLimit } from '../../platform/limits/failure-limits.ts';
import { counter } from '../../platform/metrics.ts';
import type { Provider } from '../credentials/providers.ts';
import { countReceipt, receiptsOf } from './provider-receipts.store.ts';
import { TokenRefused } from './provider-token.ts';

/** `logout`: a logout token. `signal`: a security event, which may be `ignored`: genuine, and about what has no effect here. */
export type ReceiptKind = 'logout' | 'signal';

const received = counter(
  'signet_provider_tokens_total',
  'Logout tokens and security events of providers, by kind and result: accepted, ignored (nothing here rests on it), or why they were refused.',
  'kind',
  'result',
);

/** As many as failed sign-ins with a provider. */
const limitOf = (deps: LimitDeps) =>
  addressLimit(deps, { name: 'provider-token', limit: deps.config.limits.providerFailures, windowSeconds: 600 });

type ReceiveDeps = LimitDeps & Pick<Deps, 'log'>;

/**
 * Takes a token, and keeps for administrators what became of it. An address that sends what is refused must wait after some.
 * @param take @throws {TokenRefused}
 * @throws {TokenRefused} of it; {RequestError} `rate_limited`.
 */
export async function receiving(
  deps: ReceiveDeps,
  { provider, kind, address }: { provider: Pick<Provider, 'id'>; kind: ReceiptKind; address: string },
  take: () => Promise<'accepted' | 'ignored'>,
): Promise<void> {
  const limit = limitOf(deps);
  await limit.check(address);
  let outcome: 'accepted' | 'ignored';
  try {
    outcome = await take();
  } catch (error) {
    if (error instanceof TokenRefused) {
      await limit.failed(address);
      await note(deps, provider, kind, error.problem);
    }
    throw error;
  }
  await note(deps, provider, kind, outcome);
}

/** Not of what was done: without it the sender would repeat what has succeeded. */
async function note(
  deps: ReceiveDeps,
  { id }: Pick<Provider, 'id'>,
  kind: ReceiptKind,
  outcome: string,
): Promise<void> {
  received.count(kind, outcome);
  try {
    await countReceipt(deps.db, { provider_id: id, kind, outcome }, now(deps));
  } catch (error) {
    deps.log.warn({ err: error, provider: id }, 'what came in of a provider was not noted');
  }
}

export type Receipt = { kind: ReceiptKind; outcome: string; last_at: number; times: number };

/** What came in of a provider in the last weeks, the newest first. */
export const receiptsOfProvider = async ({ db }: Pick<Deps, 'db'>, { id }: Pick<Provider, 'id'>): Promise<Receipt[]> =>
  (await receiptsOf(db, id)).map(({ provider_id: _, ...one }) => one as Receipt);

/** As an OAuth error. Without an answer of the provider about its keys, it is no fault of the token. */
export const refusalOf = ({ problem, message, cause }: TokenRefused): RequestError =>
  new RequestError(problem === 'unreachable' ? 'upstream_failed' : 'invalid_request', message, {
    cause: cause === undefined ? problem : `${problem}: ${cause}`,
  });
