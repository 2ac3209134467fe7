import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startProxiedSignet } from '../browser/proxied-signet.ts';
import { afterTest } from '../support/after-test.ts';
import type { Options } from '../support/signet.ts';
import { type BrowserName, browserNames, browsers, type LaunchOptions, missing } from './browsers.ts';
import { cases, variables } from './cases.ts';
import { Tab } from './tab.ts';
import type { Case, Visit } from './visit.ts';
import { DriverLost } from './webdriver.ts';

/** Each case in each browser, started by `main.ts`. */

const chosen = (variable: string): readonly string[] | undefined => process.env[variable]?.split('\n');

/** `main.ts` says it at the end. */
const told = new Set<BrowserName>();

async function begin(t: TestContext, name: BrowserName, options: Options & LaunchOptions = {}): Promise<Visit> {
  const { blocksCookies, ...rest } = options;
  const signet = await startProxiedSignet(t, {
    mail: true,
    ...rest,
    env: { SIGNET_RATE_LIMITS: 'off', ...options.env },
  });
  const { driver, stop } = await browsers[name].launch({ blocksCookies });
  if (!told.has(name)) t.diagnostic(`${name} is ${driver.about}`);
  told.add(name);
  const tab = new Tab(driver);
  afterTest(t, async () => {
    await stop();
    assert.deepEqual(signet.proxy.violations, [], 'pages keep their own security policy');
  });
  return { t, signet, tab };
}

const runCase =
  ({ name: caseName, run }: Case, name: BrowserName, isAgain = false) =>
  async (t: TestContext): Promise<void> => {
    let visit: Visit | undefined;
    try {
      await run(async (options) => {
        visit = await begin(t, name, options);
        return visit;
      });
    } catch (error) {
      // WebKit's driver stops answering now and then. That says nothing of the pages, so the case begins once more, from its start.
      if (error instanceof DriverLost && !isAgain) {
        t.diagnostic(`${name} was lost, and the case began again: ${error.message}`);
        return runCase({ name: caseName, run }, name, true)(t);
      }
      const picture = await visit?.tab.picture(`${name} ${caseName}`).catch(() => undefined);
      if (picture) t.diagnostic(`What the browser showed: ${picture}`);
      throw error;
    }
  };

for (const name of browserNames) {
  if (!(chosen(variables.browsers) ?? browserNames).includes(name)) continue;
  const absent = missing(name);
  for (const one of cases) {
    if (!(chosen(variables.cases)?.includes(one.name) ?? true)) continue;
    const skip = absent ?? one.notIn?.[name];
    test(`${name}: ${one.name}`, { ...(skip !== undefined && { skip }) }, runCase(one, name));
  }
}
