import type { FastifyInstance } from 'fastify';
import { deliveryStates } from '../../deliveries/queue.ts';
import type { Deps } from '../../oauth/deps.ts';
import { readChoice } from '../../platform/http/parameters.ts';
import type { View } from '../../platform/pages/view.ts';
import { findSignals, watchedStream, watchedStreams } from '../../signals/watch-stream.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { signalOperations as operations } from './operations.ts';
import { signalsListPage, signalsPath, streamPage, streamsPage } from './page.ts';

const one = `${signalsPath}/:stream_id` as const;
/** The others have a page of their own. */
const signalsShown = 25;

/** Event streams of receivers. */
export async function signalPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'webhooks:read');

  const all = async ({ view }: { view: View }, shown: Shown) => streamsPage(view, await watchedStreams(deps), shown);
  pages.show(signalsPath, (context) => all(context, context));

  pages.show(`${one}/deliveries`, async ({ view, stream_id, query }) => {
    const state = readChoice(query, 'state', deliveryStates);
    const [stream, found] = await Promise.all([
      watchedStream(deps, stream_id),
      findSignals(deps, stream_id, { state, after: query.after }),
    ]);
    return signalsListPage(view, stream, state, found);
  });

  const redraw = async ({ view, stream_id }: { view: View; stream_id: string }, shown: Shown) => {
    const [stream, latest] = await Promise.all([
      watchedStream(deps, stream_id),
      findSignals(deps, stream_id, { limit: signalsShown }),
    ]);
    return streamPage(view, stream, latest, shown);
  };
  pages.show(one, (context) => redraw(context, context));

  const onPage = { page: one, explains, redraw };
  pages.run(operations.pause, { path: `${one}/pause`, done: `${one}?done=paused`, ...onPage });
  pages.run(operations.enable, { path: `${one}/enable`, done: `${one}?done=enabled`, ...onPage });
  pages.run(operations.verify, { path: `${one}/verify`, done: `${one}?done=verified`, ...onPage });
  pages.run(operations.resend, {
    path: `${one}/replay`,
    input: ({ delivery_id = '' }) => ({ delivery_id }),
    done: `${one}?done=replayed`,
    ...onPage,
  });
  pages.run(operations.delete, { path: `${one}/delete`, done: `${signalsPath}?done=deleted`, page: signalsPath });
}
