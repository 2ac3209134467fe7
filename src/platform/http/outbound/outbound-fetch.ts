import type { Outbound } from './outbound.ts';
import { InternalTarget } from './reachable.ts';

type Options = {
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  signal?: AbortSignal | null;
};

/** `cause` says more: a code of the connection. */
export class NotFetched extends Error {
  override name = 'NotFetched';
  readonly code: string;
  constructor(code: string, cause?: unknown) {
    super(code, { cause });
    this.code = code;
  }
}

/**
 * `fetch` for a library, to addresses that people name: it reaches what {@link Outbound} reaches, and no more of an answer than so many bytes.
 * @throws {NotFetched} `internal_address`, `answer_too_large`, `timeout`, or the code of the connection.
 */
export async function outboundFetch(
  outbound: Outbound,
  url: string,
  { method = 'GET', headers = {}, body, signal }: Options,
  maxBytes: number,
): Promise<Response> {
  const text = body === undefined || body === null ? undefined : String(body);
  const sent = outbound
    .send({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: { accept: '*/*', ...headers },
      ...(text !== undefined && { body: text }),
      readBytes: maxBytes + 1,
    })
    .catch((error: unknown) => {
      throw codeOf(error);
    });
  const answer = await (signal ? Promise.race([sent, aborted(signal)]) : sent);
  if (answer.body.length > maxBytes) throw new NotFetched('answer_too_large');
  if (!answer.isWhole) throw new NotFetched('timeout');
  const { status, body: bytes } = answer;
  const shown = Object.entries(answer.headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const hasBody = bytes.length > 0 && ![204, 205, 304].includes(status);
  return new Response(hasBody ? new Uint8Array(bytes) : null, { status, headers: shown });
}

function codeOf(error: unknown): NotFetched {
  if (error instanceof InternalTarget) return new NotFetched('internal_address', error);
  const { code, name } = error as { code?: unknown; name?: string };
  if (name === 'TimeoutError' || name === 'AbortError') return new NotFetched('timeout', error);
  return new NotFetched(typeof code === 'string' ? code : 'connection', error);
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const give = () => reject(new NotFetched('timeout', signal.reason));
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
