/**
 * A process that carries out a part of the next migration and then waits in its open transaction until it is killed.
 * Started with the store, as JSON, and how far: 0 is before the first statement, 1 after the last one. In a store in cells, and after some
 * migrations, by the number of the part and of the migrations that go before in it.
 */
import type { CellSettings } from '../../src/platform/db/cell-settings.ts';
import type { MigratableDb } from '../../src/platform/db/migrate.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { openDb } from '../../src/platform/db/open.ts';
import type { FreshStore } from './databases.ts';

/** @property migrations the folder, if not our own. */
export type MigratedStore = FreshStore & { cells?: CellSettings; migrations?: string };

const [given = '', howFar, inPart = '0', before = '0'] = process.argv.slice(2);
const { dataDir, url: databaseUrl, cells, migrations } = JSON.parse(given) as MigratedStore;
const db = await openDb({ dataDir, databaseUrl, databaseMayLoseCommits: true, cells });

/** To be killed. The interval keeps the process from ending by itself. */
const wait = (after: string) =>
  new Promise<never>(() => {
    console.log(`waiting after ${after}`);
    setInterval(() => undefined, 1000);
  });

const part = db.parts[Number(inPart)]!;
const { exclusively } = part;
let left = Number(before);
const untilKilled: MigratableDb['exclusively'] = (work) =>
  exclusively((session) => {
    if (left > 0) {
      left -= 1;
      return work(session);
    }
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
Object.assign(part, { exclusively: untilKilled });

await migrate(db, 0, migrations === undefined ? undefined : new URL(migrations));
await db.close(); // nobody has killed it, as there was no such migration
