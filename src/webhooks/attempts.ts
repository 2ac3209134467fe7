import type { Answer } from '../deliveries/poster.ts';

/** What came of one request to the receiver; `at` is the Unix time of its end. `status` is null without an answer. */
export type AttemptRecord = { at: number; status: number | null; ms: number; problem?: string };

/** More than a delivery has by itself: those before it was sent again are among them. */
export const maxAttemptsKept = 15;

type Logged = { readonly attempt_log: string | null };

/** Oldest first. */
export const attemptsOf = ({ attempt_log }: Logged): AttemptRecord[] => JSON.parse(attempt_log ?? '[]');

/** The log with one more attempt, without the oldest if it is full. */
export const withAttempt = (
  delivery: Logged,
  { at, answer: { status, milliseconds: ms }, problem }: { at: number; answer: Answer; problem?: string },
): string => JSON.stringify([...attemptsOf(delivery), { at, status, ms, problem }].slice(-maxAttemptsKept));
