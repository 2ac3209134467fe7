import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openMetrics } from '../../src/app/metrics.ts';
import { openOperatorServer, type Stage } from '../../src/app/operator-server.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { countedByProcess } from '../../src/platform/metrics.ts';
import { freePort } from '../support/free-port.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, tokensOf } from '../support/relying-party.ts';
import { secretCookies } from '../support/secret-cookies.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';

testSignet('/livez and /readyz say whether a node is up and whether to use it', async ({ signet }) => {
  const browser = signet.newBrowser();
  let calls = 0;
  let failure: Error | undefined;
  beforeEachCall(signet.deps.db, () => {
    calls += 1;
    if (failure) throw failure;
  });

  for (const accept of ['*/*', 'text/html']) {
    const live = await browser.get('/livez', { accept });
    assert.deepEqual([live.status, live.json], [200, { status: 'live' }]);
    assert.equal(live.headers.get('cache-control'), 'no-store');
  }
  assert.equal(calls, 0, 'a probe of the process asks no store');

  const answers = await Promise.all(Array.from({ length: 50 }, () => browser.get('/readyz')));
  for (const { status, json, headers } of answers) {
    assert.deepEqual([status, json, headers.get('cache-control')], [200, { status: 'ready' }, 'no-store']);
  }
  assert.equal(calls, 1, 'strangers cannot make it ask the store more than once a second');

  failure = new StoreUnavailable('secret words of the driver');
  signet.clock.advance(1);
  const away = await browser.get('/readyz', { accept: 'text/html' });
  assertRefused(away, 503, 'temporarily_unavailable');
  assert.deepEqual(away.json?.reasons, ['store']);
  assert.doesNotMatch(away.text, /secret/);
  assert.ok(away.headers.get('retry-after'));
  assert.equal((await browser.get('/livez')).status, 200);

  failure = undefined;
  signet.clock.advance(1);
  assert.equal((await browser.get('/readyz')).status, 200);

  await plain(signet.deps.db).run(
    "update signing_keys set status = 'retiring' where status = 'active' and algorithm = 'RS256'",
  );
  signet.clock.advance(1);
  assert.deepEqual((await browser.get('/readyz')).json?.reasons, ['signing_keys']);

  signet.clock.advance(1);
  signet.deps.timekeeper.markUnsettled();
  const doubted = await browser.get('/readyz');
  assert.deepEqual([doubted.status, doubted.json?.warnings], [503, ['clock']]);
  await plain(signet.deps.db).run("update signing_keys set status = 'active' where status = 'retiring'");
  signet.clock.advance(1);
  assert.deepEqual((await browser.get('/readyz')).json, { status: 'ready', warnings: ['clock'] });
});

testSignet('the port for operators says the same, and nothing else', async ({ signet, t }) => {
  const operatorPort = await freePort();
  const stage: Stage = { is: 'starting' };
  const config = { ...signet.deps.config, operatorPort };
  const server = await openOperatorServer({ ...signet.deps, config }, stage);
  t.after(() => server.close());
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${operatorPort}${path}`, { method });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, json: text === '' ? undefined : JSON.parse(text) };
  };

  const starting = await ask('/readyz');
  assert.deepEqual([starting.status, starting.json.reasons], [503, ['starting']]);
  assert.equal(starting.headers.get('retry-after'), '2');
  assert.deepEqual((await ask('/livez')).json, { status: 'live' });
  stage.is = 'serving';
  assert.deepEqual((await ask('/readyz')).json, { status: 'ready' });
  assert.equal((await ask('/readyz', 'HEAD')).status, 200);

  beforeEachCall(signet.deps.db, () => {
    throw new StoreUnavailable('secret words of the driver');
  });
  signet.clock.advance(1);
  const away = await ask('/readyz');
  assert.deepEqual([away.status, away.json.error, away.json.reasons], [503, 'temporarily_unavailable', ['store']]);
  assert.doesNotMatch(JSON.stringify(away.json), /secret/);

  assert.deepEqual([(await ask('/livez', 'POST')).status, (await ask('/signin')).status], [405, 404]);
  assert.equal((await ask('/constructor')).status, 404);
  await assert.rejects(openOperatorServer({ ...signet.deps, config }, stage), /SIGNET_OPERATOR_PORT: cannot listen/);
});

const token = 'a token of thirty-two characters'.replaceAll(' ', '-');
const observed = { SIGNET_METRICS_TOKEN: token, SIGNET_LOG_REQUESTS: 'on' };

testSignet(
  'metrics and the log of requests say what happened, and nothing that is secret',
  { env: observed },
  async ({ signet }) => {
    const scrape = async (authorization = `Bearer ${token}`) =>
      (await fetch(`${signet.url}/metrics`, { headers: { authorization } })).text();
    const sampleOf = (text: string, series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.slice(series.length + 1) ?? 0,
      );
    for (const authorization of ['', 'Bearer wrong', `Basic ${token}`, `Bearer ${token}x`]) {
      const refused = await fetch(`${signet.url}/metrics`, { headers: { authorization } });
      assert.equal(refused.status, 401, authorization);
    }
    const before = await scrape();

    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user });
    const code = await user.authorize(client);
    const tokens = tokensOf(await client.redeem(code));
    await client.refresh(tokens.refresh_token);
    assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
    await client.post('/oauth/token', { grant_type: 'a stranger"s\ngrant' });
    await fetch(`${signet.url}/a/strangers/path-${code}?token=${tokens.access_token}`, { method: 'PROPFIND' });
    await fetch(`${signet.url}/%zz`);

    signet.clock.advance(60);
    const after = await scrape();
    const increase = (series: string) => sampleOf(after, series) - sampleOf(before, series);
    assert.equal(increase('signet_token_requests_total{grant_type="authorization_code",outcome="issued"}'), 1);
    assert.equal(increase('signet_token_requests_total{grant_type="refresh_token",outcome="invalid_grant"}'), 1);
    assert.equal(increase('signet_token_requests_total{grant_type="other",outcome="unsupported_grant_type"}'), 1);
    assert.equal(increase('signet_revocations_total{reason="replay",of="grant"}'), 1);
    assert.equal(increase('signet_sign_ins_total{method="password",result="succeeded"}'), 1);
    assert.equal(increase('signet_http_requests_total{method="other",route="",status="404"}'), 1);
    assert.equal(increase('signet_http_request_duration_seconds_count{route="/oauth/token"}'), 4);
    assert.equal(sampleOf(after, 'signet_store_up'), 1);
    assert.ok(sampleOf(after, 'signet_audit_events_unsealed') > 0);
    assert.ok(sampleOf(after, 'signet_store_size_bytes') > 0);
    assert.ok(increase('signet_store_duration_seconds_count{kind="change"}') > 3);
    assert.doesNotMatch(after, /stranger/);
    for (const line of after.trimEnd().split('\n')) {
      assert.match(line, /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="([^"\\]|\\.)*",?)+\})? [\d.e+-]+)$/);
    }

    const lines = signet.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    const refusedToken = lines.find(({ error }) => error === 'invalid_grant');
    assert.deepEqual([refusedToken.method, refusedToken.route, refusedToken.status], ['POST', '/oauth/token', 400]);
    const answer = await fetch(`${signet.url}/signin`);
    // Jobs write lines of their own between and after those of requests.
    const logged = signet.logLines.map((line) => JSON.parse(line));
    const ofAnswer = logged.find(({ id }) => id === answer.headers.get('x-request-id'));
    assert.deepEqual([ofAnswer?.msg, ofAnswer?.route], ['request', '/signin']);
    const refused = await fetch(`${signet.url}/oauth/authorize`);
    assert.equal(refused.status, 400);
    assert.ok((await refused.text()).includes(`<code>${refused.headers.get('x-request-id')}</code>`));
    const secrets = [token, code, client.client_secret!, user.password, ...Object.values(tokens)].filter(
      (one) => typeof one === 'string' && one.length > 20,
    );
    assert.ok(secrets.length >= 5);
    for (const text of [after, signet.logLines.join('\n')]) {
      for (const secret of [...secrets, ...secretCookies(user.browser).map(([, value]) => value)])
        assert.ok(!text.includes(String(secret)));
    }

    // Which texts, not how many: what else the server asks meanwhile is its own affair.
    const asked: string[] = [];
    beforeEachCall(signet.deps.db, (sql) => void asked.push(...sql));
    const scrapeNode = openMetrics(signet.deps);
    const slow = scrapeNode();
    signet.clock.advance(60);
    await Promise.all([slow, scrapeNode()]);
    const askedByBoth = asked.splice(0);
    await scrapeNode();
    const reads = asked.filter((sql) => askedByBoth.includes(sql));
    assert.ok(reads.length > 3);
    const timesIn = (all: string[], sql: string) => all.filter((one) => one === sql).length;
    for (const sql of reads) {
      assert.ok(timesIn(askedByBoth, sql) <= timesIn(asked, sql), `a slow read has another one beside it: ${sql}`);
    }
  },
);

const documented = (path: string) => readFileSync(join(import.meta.dirname, '../../docs', path), 'utf8');

type Alert = Record<'name' | 'expr' | 'severity' | 'summary' | 'runbook', string>;

/** Of a file of rules in which every line is of a shape that is known here, and so is read by any parser of YAML alike. */
function alertsIn(text: string): Alert[] {
  const [head = '', ...rules] = text.replaceAll(/^#.*\n/gm, '').split('      - alert: ');
  assert.equal(head, 'groups:\n  - name: signet\n    rules:\n');
  // No line begins with an indicator, nor has what would begin a mapping or a comment.
  const plain = '(?![-?:,\\[\\]{}#&*!|>\'"%@`])(?:(?!: | #).)+(?<![ :])';
  const shape = new RegExp(
    `^(?<name>[A-Z][A-Za-z]+)\n {8}expr: (?<expr>${plain})\n(?: {8}for: \\d+[mh]\n)?` +
      ` {8}labels:\n {10}severity: (?<severity>critical|warning)\n` +
      ` {8}annotations:\n {10}summary: (?<summary>${plain}\\.)\n {10}runbook: (?<runbook>${plain})\n$`,
  );
  return rules.map((rule) => {
    const found = shape.exec(rule);
    assert.ok(found, `not of the expected shape:\n${rule}`);
    return found.groups as Alert;
  });
}

/** The expressions of a dashboard, and of the lists at its top. */
function expressionsIn(dashboard: string): string[] {
  const found: string[] = [];
  JSON.parse(dashboard, (key, value) => {
    const [, listed] = (key === 'query' && /^label_values\((.+), \w+\)$/.exec(value)) || [];
    if (key === 'expr' || listed) found.push(listed ?? value);
    return value;
  });
  return found;
}

const grouping = /\b(?:by|without|on|ignoring) \(([\w, ]+)\)/g;
const matcher = /(\w+)(?:=~|!~|!=|=)"/g;

/** By PromQL; `rated` are those whose increase is asked for. */
function namesIn(expression: string): { metrics: string[]; rated: string[]; labels: string[] } {
  const bare = expression.replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, '').replaceAll(grouping, '');
  return {
    metrics: [...bare.matchAll(/\b[a-z_]\w*\b(?! *\()/gi)]
      .map(([name]) => name)
      .filter((name) => !['and', 'or', 'unless', 'offset'].includes(name)),
    rated: [...bare.matchAll(/\b(?:rate|increase)\((\w+)/g)].map(([, name = '']) => name),
    labels: [
      ...[...expression.matchAll(grouping)].flatMap(([, labels = '']) => labels.split(', ')),
      ...[...expression.matchAll(matcher)].map(([, label = '']) => label),
    ],
  };
}

/** PromQL's least squares over samples `[seconds, value]`, the last one now. */
function predictLinear(samples: readonly [number, number][], seconds: number): number {
  const mean = (values: number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const [end = 0] = samples.at(-1) ?? [];
  const [at, of] = [mean(samples.map(([time]) => time - end)), mean(samples.map(([, value]) => value))];
  const covariance = mean(samples.map(([time, value]) => (time - end - at) * (value - of)));
  const slope = covariance / mean(samples.map(([time]) => (time - end - at) ** 2));
  return of + slope * (seconds - at);
}

/** Whether the alert would be pending. @param free gigabytes in which a disk of `size` was scraped, an hour apart. */
function isFilling(expression: string, size: number, free: readonly number[]): boolean {
  const samples = free.map((value, hour): [number, number] => [hour * 3600, value * 1e9]);
  const values: Record<string, number> = { free: samples.at(-1)?.[1] ?? Number.NaN, size: size * 1e9 };
  const terms = expression
    .replace(/predict_linear\(signet_data_disk_free_bytes\[6h\], (\d+)\)/, (_, seconds) =>
      String(predictLinear(samples.slice(-7), Number(seconds))),
    )
    .replace(/signet_data_disk_free_bytes offset (\d)h/, (_, hours) => String(samples.at(-1 - Number(hours))?.[1]))
    .replaceAll(/signet_data_disk_(free|size)_bytes/g, (_, name) => String(values[name]))
    .split(' or ')
    .map((all) => all.split(' and '));
  const holds = (term: string) => {
    const [, left = '', relation = '', right = ''] = /^(\S+) ([<>]) (.+)$/.exec(term) ?? assert.fail(term);
    const limit = right.split(' * ').reduce((product, one) => product * Number(one), 1);
    return relation === '<' ? Number(left) < limit : Number(left) > limit;
  };
  return terms.some((all) => all.every(holds));
}

test('a disk is reported as filling when little is left or soon will be, and not for some hours of growth', () => {
  const alerts = alertsIn(documented('monitoring/alerts.yaml'));
  const { expr = '' } = alerts.find(({ name }) => name === 'SignetDiskFilling') ?? {};
  const falling = (from: number, by: number) => [0, 1, 2, 3, 4, 5, 6].map((hour) => from - hour * by);
  assert.ok(isFilling(expr, 252, [1.9]), 'little is left');
  assert.ok(isFilling(expr, 252, falling(19, 0.5)), 'full in a day and a half');
  assert.ok(!isFilling(expr, 252, [52, 49]), 'an hour says nothing about two days');
  assert.ok(!isFilling(expr, 252, falling(61, 2)), '49 GB are left');
  assert.ok(!isFilling(expr, 252, [18, 15]), 'hardly scraped yet');
  assert.ok(!isFilling(expr, 30, falling(19, 0.5)), 'more than half of a small disk');
  assert.ok(!isFilling(expr, 252, falling(19, 0.01)), 'full in two months');
});

test('dashboard and alerts name metrics that are there, and each alert says what to do', async (t) => {
  const signet = await startSignet(t);
  const scraped = await openMetrics(signet.deps)();
  const types = new Map(
    [...scraped.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  types.set('up', 'gauge'); // Prometheus's own, as are two labels
  const labels = new Set(['job', 'instance', 'le', ...countedByProcess().flatMap(({ labelNames }) => labelNames)]);
  for (const [, label = ''] of scraped.matchAll(/[{,](\w+)="/g)) labels.add(label);
  const typeOf = (name: string) => {
    const [, family = '', part] = /^(\w+?)(?:_(bucket|sum|count))?$/.exec(name) ?? [];
    return part && types.get(family) === 'histogram' ? 'counter' : types.get(name);
  };
  /** What is wrong with an expression. */
  const faultsOf = (expression: string) => {
    const { metrics, rated, labels: used } = namesIn(expression);
    return [
      ...metrics.filter((name) => [undefined, 'histogram'].includes(typeOf(name))).map((name) => `no ${name}`),
      ...rated.filter((name) => typeOf(name) !== 'counter').map((name) => `${name} does not count`),
      ...used.filter((label) => !labels.has(label)).map((label) => `no label ${label}`),
    ];
  };
  assert.deepEqual(faultsOf('sum by (kin) (rate(signet_store_pending{a="b"}[5m])) > signet_nothing or up offset 1h'), [
    'no signet_nothing',
    'signet_store_pending does not count',
    'no label kin',
    'no label a',
  ]);

  const alerts = alertsIn(documented('monitoring/alerts.yaml'));
  const panels = expressionsIn(documented('monitoring/dashboard.json'));
  assert.ok(alerts.length > 15 && panels.length > 30, 'it reads the files');
  const faults = [...alerts.map(({ expr }) => expr), ...panels].flatMap((one) =>
    faultsOf(one).map((it) => `${it}: ${one}`),
  );
  assert.deepEqual(faults, []);

  const dashboard = documented('monitoring/dashboard.json');
  const index = documented('incidents/README.md');
  const listed = [...index.matchAll(/^\| \[(\w+)\]\(\1\.md\) \| (\w+) \| (.+) \|$/gm)].map((row) => row.slice(1));
  assert.deepEqual(
    listed,
    alerts.map(({ name, severity, summary }) => [name, severity, summary]),
  );
  const folder = new URL('../../docs/incidents', import.meta.url);
  assert.deepEqual(
    readdirSync(folder).sort(),
    ['README.md', ...alerts.map(({ name }) => `${name}.md`)].sort(),
    'a page for each alert, and no other',
  );
  for (const { name, runbook } of alerts) {
    assert.equal(runbook, `docs/incidents/${name}.md`);
    const page = documented(`incidents/${name}.md`);
    const parts = [...page.matchAll(/^(#+ .+)\n\n(?=[^#\n])/gm)].map(([, heading]) => heading);
    assert.deepEqual(parts, [
      ...['## What it means', '## What people notice', '## What to look at', '## What to do', '## When it is over'],
    ]);
    assert.ok(page.startsWith(`# ${name}\n`), name);
    const panels = [...page.matchAll(/\b_([A-Z][^_\n]*)_\b/g)].map(([, panel = '']) => panel);
    for (const panel of panels) assert.ok(dashboard.includes(`"title": "${panel}"`), `${name}: no panel ${panel}`);
  }
  const text = documented('monitoring.md');
  const [, table = ''] = text.split('\n## Metrics\n');
  const named = [...table.matchAll(/`((?:signet|process)_\w+)`/g)].map(([, name = '']) => name);
  assert.deepEqual(named.toSorted(), [...types.keys()].filter((name) => name !== 'up').toSorted());
});
