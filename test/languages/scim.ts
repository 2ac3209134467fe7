import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scratchFolder } from '../support/scratch.ts';
import { startSignet } from '../support/signet.ts';
import { isChosen, scimCheckers } from './cases.ts';
import { missingTool, pip, python, run, textOf, unavailable } from './programs.ts';

/*
 * The checker of the python-scim project, as it is installed, by its own command. Each line of its report begins with a word for how
 * it went.
 *
 *     npm run test:clients -- --only scim2-tester
 */
const minutes = 60_000;

/** Of those that the version below makes: fewer would mean that it has given up. */
const fewestChecks = 70;

for (const name of scimCheckers.filter(isChosen)) {
  test(name, { timeout: 10 * minutes }, async (t) => {
    const missing = await missingTool(python);
    if (missing !== undefined) return t.skip(missing);
    const folder = await scratchFolder('scim-');
    const unavailability = await unavailable(() =>
      pip('scim2-tester==0.5.2', 'scim2-cli==0.6.0', 'scim2-client==0.13.2', 'scim2-models==0.12.3')(folder),
    );
    if (unavailability !== undefined) return t.skip(unavailability);
    for (const engine of ['sqlite', 'postgres'] as const) {
      const signet = await startSignet(t, { engine });
      const { client_id, client_secret, authorization } = await signet.newService({
        permissions: ['scim:write'],
        products: [],
        expires_in_days: 1,
      });
      for (const sent of [authorization, `Bearer ${client_id}.${client_secret}`]) {
        const env = { ...process.env, SCIM_CLI_HEADERS: `Authorization: ${sent}` };
        const { stdout } = await run('venv/bin/scim', ['--url', `${signet.url}/scim/v2`, 'test'], {
          cwd: folder,
          env,
          maxBuffer: 2 ** 26,
        }).catch((error) => assert.fail(textOf(error)));
        const outcomes = [...stdout.matchAll(/^([A-Z]+) \w+$/gm)].map(([, word = '']) => word);
        const passed = outcomes.filter((word) => word === 'SUCCESS').length;
        t.diagnostic(`${engine}, ${sent.split(' ')[0]}: ${passed} of ${outcomes.length} checks passed`);
        assert.equal(passed, outcomes.length, stdout);
        assert.ok(passed >= fewestChecks, stdout);
      }
    }
  });
}
