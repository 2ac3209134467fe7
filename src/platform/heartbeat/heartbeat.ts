import { type Clock, now } from '../clock.ts';
import type { Db } from '../db/db.ts';
import { type ClockDeps, clockComparison } from './compare-clocks.ts';
import { findHeartbeat, keepHeartbeat, type MailMode } from './store.ts';

/** Seconds. Servers give a sign of life every minute; after this one that gives none is taken to be down. */
const silentAfterSeconds = 300;

type HeartbeatDeps = ClockDeps & { db: Db; config: { readonly baseUrl: string }; mail: { readonly way: MailMode } };

/** Tells the command line and other nodes that a server runs here and how, and checks whether clocks agree. */
export type ServerHeartbeat = {
  /** The first one of a server. */
  start(): Promise<void>;
  record(): Promise<void>;
};

export function openHeartbeat(deps: HeartbeatDeps): ServerHeartbeat {
  const { db, config, mail, node } = deps;
  const clocks = clockComparison(deps);
  const keep = () => keepHeartbeat(db, { node, at: now(deps), base_url: config.baseUrl, mail: mail.way });
  return {
    async start() {
      clocks.compareAtStart(await findHeartbeat(db));
      await keep();
    },
    async record() {
      clocks.compare(await findHeartbeat(db));
      await keep();
    },
  };
}

/** Why a mail that is queued now may not be sent soon; undefined when a server runs that sends it. */
export async function mailWarning(deps: { db: Db; clock: Clock }): Promise<string | undefined> {
  const server = await findHeartbeat(deps.db);
  if (!server || Math.abs(now(deps) - server.at) > silentAfterSeconds) {
    return 'Mail to the person was queued, and no running server was found: it is sent once one runs with SIGNET_SMTP_URL.';
  }
  if (server.mail === 'none') {
    return 'Mail to the person was queued, and the server cannot send it: SIGNET_SMTP_URL is not set there. Set it within three days, or tell the person yourself.';
  }
  return undefined;
}
