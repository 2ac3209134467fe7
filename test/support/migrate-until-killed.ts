/**
 * A process that carries out a part of the next migration and then waits in its open transaction until it is killed.
 * Started with the store, as JSON, and how far: 0 is before the first statement, 1 after the last one.
 */
import type { MigratableDb } from '../../src/platform/db/migrate.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openDb } from '../../src/platform/db/open.ts';
import type { FreshStore } from './databases.ts';

const [store = '', howFar] = process.argv.slice(2);
const { dataDir, url: databaseUrl } = JSON.parse(store) as FreshStore;
const db = await openDb({ dataDir, databaseUrl, databaseMayLoseCommits: true });

/** To be killed. The interval keeps the process from ending by itself. */
const wait = (after: string) =>
  new Promise<never>(() => {
    console.log(`waiting after ${after}`);
    setInterval(() => undefined, 1000);
  });

const { exclusively } = db;
const untilKilled: MigratableDb['exclusively'] = (work) =>
  exclusively((session) => {
    let scripts = 0;
    return work({
      async exec(script) {
        scripts += 1;
        if (scripts === 1) return session.exec(script); // the list of migrations
        const statements = script.split(/(?<=;)[^\S\n]*\n/).filter((text) => /^\s*[a-z]/m.test(text));
        const until = Math.floor(Number(howFar) * (statements.length + 1));
        for (const statement of statements.slice(0, until)) await session.exec(statement);
        await wait(`${until} of ${statements.length} statements`);
      },
      all: (sql, params) => session.all(sql, params),
    });
  });

await migrate(Object.assign(db, { exclusively: untilKilled }), 0);
