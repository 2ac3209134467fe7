import { now } from '../../platform/clock.ts';
import type { Db } from '../../platform/db/db.ts';
import { manyWaiting, troubledStreams } from '../../signals/troubled-streams.ts';
import { type Check, type CheckDeps, ok, problem, warning } from './check.ts';

const name = 'signal streams';
const named = 10;
const list = (ids: readonly string[]): string =>
  ids.length > named ? `${ids.slice(0, named).join(', ')} and ${ids.length - named} more` : ids.join(', ');

/** Whether receivers of security events get them. */
export async function checkSignals({ clock }: Pick<CheckDeps, 'clock'>, db: Db): Promise<Check> {
  const { streams, failing, filling, paused } = await troubledStreams(db, now({ clock }));
  const troubles = [
    {
      ids: failing,
      found: 'For an hour a push has failed to',
      remedy:
        'Run: signet signals deliveries STREAM_ID --state waiting, which has the last answer, and have its receiver mended.',
    },
    {
      ids: filling,
      found: `More than ${manyWaiting} tokens wait, and the stream is paused with 10000, in`,
      remedy: 'Have the receiver take them; signet signals list shows what waits.',
    },
    {
      ids: paused,
      found: 'Paused, with the tokens held, is',
      remedy: 'Run: signet signals list. Then enable the stream, or delete it if it has no receiver any more.',
    },
  ].filter(({ ids }) => ids.length > 0);
  if (troubles.length === 0)
    return ok(name, streams === 0 ? 'No receiver has a stream.' : 'Receivers take their tokens.');
  const [found, remedy] = [
    troubles.map(({ found, ids }) => `${found}: ${list(ids)}.`).join(' '),
    troubles.map(({ remedy }) => remedy).join(' '),
  ];
  return (failing.length > 0 ? problem : warning)(name, found, remedy);
}
