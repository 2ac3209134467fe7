import assert from 'node:assert/strict';
import { test } from 'node:test';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { type World, world } from '../support/api-world.ts';
import { type Answer, newBrowser } from '../support/browser.ts';
import { plain } from '../support/plain-sql.ts';
import { cellCount } from '../support/postgres-server.ts';
import { repeated } from '../support/repeated.ts';
import { routesOf } from '../support/routes.ts';
import type { TestUser } from '../support/test-user.ts';
import { isOn, onTwoServers } from '../support/two-servers.ts';

/** An administrator whose rows are on another server than those of the person whom the pages are about. */
async function administratorElsewhere({ signet, owner }: World): Promise<TestUser> {
  for (;;) {
    const one = await signet.signedInUser({ role: 'admin' });
    if (isOn(signet, one.user_id, 'first') === isOn(signet, owner.user_id, 'first')) continue;
    await plain(signet.deps.db).run('update sessions set acr = $2 where user_id = $1', [one.user_id, twoFactors]);
    return one;
  }
}

const pathOf = ({ ids, service_id }: World, path: string): string =>
  path.replaceAll(/:(\w+)/g, (_, name: string) =>
    path.includes('/service-credentials/') ? service_id : (ids[name] ?? 'unknown'),
  );

/** What does not depend on ids and on how many people there are. */
function shapeOf({ status, headers, location, json, text }: Answer, { ids, service_id, signet }: World) {
  const own = [signet.url, service_id, ...Object.values(ids)];
  const withoutIds = (words: string) =>
    own.reduce((left, one) => left.replaceAll(one, ''), words).replaceAll(/[\w-]{22,}|\d+/g, '');
  return {
    status,
    type: headers.get('content-type'),
    location: withoutIds(location),
    title: withoutIds(/<title>([^<]*)/.exec(text)?.[1] ?? ''),
    members: Object.keys(json ?? {}).sort(),
    absent: headers.get('signet-absent-parts') ?? text.includes('id="absent-parts"'),
  };
}

const isThorough = cellCount > 0 || repeated(1) > 1;

test('every page and list answers on two servers as on one', {
  skip: !isThorough && 'in npm run test:cells',
}, async (t) => {
  const one = await world(t, { engine: 'sqlite' });
  const two = await world(t, { engine: 'postgres' }, async (t, options) => (await onTwoServers(t, options)).signet);
  const administrators = new Map([
    [one, one.administrator],
    [two, await administratorElsewhere(two)],
  ]);
  const routes = await routesOf(one.signet.app, one.signet.url);
  const paths = routes.filter(({ methods }) => methods.includes('GET')).map(({ path }) => path);
  assert.ok(paths.length > 100, 'these are all of them');
  let answered = 0;
  for (const path of paths) {
    for (const visitor of ['nobody', 'owner', 'administrator'] as const) {
      const ask = async (of: World) => {
        const { signet, owner } = of;
        const browsers = {
          nobody: newBrowser(signet.url),
          owner: owner.browser,
          administrator: administrators.get(of)!.browser,
        };
        return shapeOf(await browsers[visitor].get(pathOf(of, path)), of);
      };
      const expected = await ask(one);
      assert.deepEqual(await ask(two), expected, `${path}, ${visitor}`);
      if (expected.status === 200) answered += 1;
    }
  }
  t.diagnostic(`${paths.length} addresses, ${answered} answers of 200`);
});
