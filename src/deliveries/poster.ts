import type { Deps } from '../audit/deps.ts';
import { InternalTarget } from '../platform/http/outbound/reachable.ts';
import { type SendingSpan, serverOf } from '../platform/tracing.ts';
import type { DeliveryKindName } from './queue.ts';

/** What is kept of an answer. */
const maxBodyBytes = 1024;

/**
 * A failed delivery, in words for those who run the target.
 * `isSilent`: there was no answer, and another delivery would get none. `isFinal`: another attempt would fail alike.
 */
export type Problem = { message: string; isSilent: boolean; isFinal?: boolean };

/** What a target has answered, and after how long. */
export type Answer = {
  /** Null: there was no answer. */
  status: number | null;
  /** The beginning of its body; null if that was not read, or is no text. */
  body: string | null;
  milliseconds: number;
};

/** Without a problem it was taken. */
export type Attempt = { problem?: Problem; answer: Answer };

type Message = {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Whose trace goes on with it. */
  request_id?: string | null;
};

/**
 * Posts to a target that users name.
 * @param kind for traces.
 * @param options.readsBody keeps the beginning of an answer. Without it nothing of the body is read.
 */
export function openPoster(
  deps: Pick<Deps, 'clock' | 'outbound' | 'tracer'>,
  kind: DeliveryKindName,
  { readsBody = false } = {},
) {
  /** @param judge what the status of the answer means. */
  async function post(
    { url, headers, body }: Message,
    judge: (status: number) => Problem | undefined,
    { traceparent, note }: SendingSpan,
  ): Promise<Attempt> {
    const startedAt = deps.clock();
    const noAnswer = (text: string): Attempt => ({
      problem: { message: text, isSilent: true },
      answer: { status: null, body: null, milliseconds: deps.clock() - startedAt },
    });
    try {
      const answer = await deps.outbound.send({
        method: 'POST',
        url,
        headers: { ...headers, ...(traceparent && { traceparent }) },
        body,
        readBytes: readsBody ? maxBodyBytes : 0,
      });
      const { status } = answer;
      const problem = judge(status);
      note({ 'http.response.status_code': status }, problem && String(status));
      const kept = readsBody ? textOf(answer.body) : null;
      return { ...(problem && { problem }), answer: { status, body: kept, milliseconds: deps.clock() - startedAt } };
    } catch (error) {
      if (error instanceof InternalTarget) {
        note({}, error.name);
        return noAnswer(error.message);
      }
      const { code = 'no response' } = error as NodeJS.ErrnoException;
      note({}, code);
      return noAnswer(`The receiver could not be reached: ${code}.`);
    }
  }

  return (message: Message, judge: (status: number) => Problem | undefined): Promise<Attempt> =>
    deps.tracer.send(
      `POST ${kind}`,
      { 'http.request.method': 'POST', ...serverOf(message.url) },
      message.request_id,
      (span) => post(message, judge, span),
    );
}

/** Null if they are no text. */
function textOf(bytes: Buffer): string | null {
  try {
    // `stream`: the last character may be cut.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return /(?![\t\r\n])\p{Cc}/u.test(text) ? null : text;
  } catch {
    return null;
  }
}

export const unexpectedStatus = (status: number): Problem => ({
  message: `The receiver responded with ${status}.`,
  isSilent: false,
});
