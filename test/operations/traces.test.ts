import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { onBothEngines } from '../support/databases.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { newHasher } from '../support/remembering-hasher.ts';
import { bareSettings, startServer } from '../support/server-process.ts';
import { startSignet } from '../support/signet.ts';
import { openCollector, tracerTo } from '../support/trace-collector.ts';
import { signInUpstream } from '../support/upstream.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8', SIGNET_LOG_REQUESTS: 'on' };
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

onBothEngines(
  'a trace leads from a request through its work and statements to its mail and its webhook',
  async (t, engine) => {
    const collector = await openCollector(t);
    const tracer = tracerTo(collector);
    const passwords = newHasher({}, { phases: tracer.phases });
    const { signet, upstream } = await startFederatedSignet(t, { engine, env, mail: true, tracer, passwords });
    const receiver = await openReceiver(t);
    const caller = { actor: 'cli' } as const;
    await createWebhook(signet.deps, caller, { url: `${receiver.url}?key=s3cret`, event_types: ['session.started'] });
    const user = await signet.newUser();
    const form = { username: user.email, password: user.password };
    const signedIn = await signet.newBrowser().post('/signin', form, { traceparent });
    assert.equal(signedIn.status, 303);
    const { answer: federated } = await signInUpstream(signet.newBrowser());
    assert.equal(federated.status, 303, federated.text);
    const reset = await signet.newBrowser().post('/reset', { email: user.email });
    const request_id = signedIn.headers.get('x-request-id') ?? 'none';
    await runJobs(signet.deps, quickJobs);
    await runJobs(signet.deps, quickJobs);
    await signet.deps.mail.deliver();
    await signet.deps.tracer.close();
    const { spans } = collector;

    const request = spans.find(({ attributes }) => attributes['signet.request_id'] === request_id);
    assert.ok(request, 'the request has a span');
    const { trace_id, span_id } = request;
    assert.deepEqual(
      { name: request.name, kind: request.kind, attributes: request.attributes },
      {
        name: 'POST /signin',
        kind: 2,
        attributes: {
          'http.request.method': 'POST',
          'url.scheme': 'http',
          'http.route': '/signin',
          'http.response.status_code': 303,
          'signet.request_id': request_id,
        },
      },
    );
    const below = (name: string, parent_id = span_id) =>
      spans.filter((span) => span.name === name && span.parent_id === parent_id && span.trace_id === trace_id);
    const [change, ...others] = spans.filter(
      (span) => span.parent_id === span_id && span.name.includes('insert sessions'),
    );
    assert.ok(change && others.length === 0, 'the change of the request is one span');
    assert.match(change.name, /insert audit_log/);
    assert.equal(change.trace_id, trace_id);
    assert.equal(change.attributes['db.system.name'], engine === 'sqlite' ? 'sqlite' : 'postgresql');
    assert.equal(change.kind, engine === 'sqlite' ? 1 : 3);
    assert.equal(change.attributes['db.query.summary'], change.name);
    assert.ok(below('select users').length > 0, 'so are its reads');
    for (const phase of ['wait for the writer', 'execute', 'flush'])
      assert.equal(below(phase, change.span_id).length, engine === 'sqlite' ? 1 : 0, phase);

    for (const phase of ['wait for a password hash', 'hash a password']) assert.equal(below(phase).length, 1, phase);

    const requests = new Map(spans.filter(({ kind }) => kind === 2).map((span) => [span.span_id, span]));
    const calls = spans.filter(({ name }) => / provider$/.test(name));
    assert.deepEqual(
      calls.map(({ name, parent_id }) => `${requests.get(parent_id)?.name}: ${name}`),
      [
        'GET /auth/:provider/login: GET provider',
        'GET /auth/:provider/callback: POST provider',
        'GET /auth/:provider/callback: GET provider',
      ],
    );
    for (const { kind, attributes } of calls) {
      const { hostname, port } = new URL(upstream.issuer);
      const { 'http.request.method': _, ...others } = attributes;
      assert.deepEqual(
        [kind, others],
        [
          3,
          {
            'url.scheme': 'http',
            'server.address': hostname,
            'server.port': Number(port),
            'http.response.status_code': 200,
          },
        ],
      );
    }

    const [webhook] = below('POST webhook');
    assert.ok(webhook, 'the webhook is below the request');
    const port = Number(new URL(receiver.url).port);
    assert.deepEqual(webhook.attributes, {
      'http.request.method': 'POST',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
      'server.port': port,
      'http.response.status_code': 204,
    });
    const [delivery] = receiver.deliveries;
    assert.equal(delivery?.headers.traceparent, `00-${trace_id}-${webhook.span_id}-01`);

    const asking = spans.find(
      ({ attributes }) => attributes['signet.request_id'] === reset.headers.get('x-request-id'),
    );
    assert.ok(asking);
    const [mail] = spans.filter(({ name }) => name === 'send mail');
    assert.deepEqual([mail?.trace_id, mail?.parent_id, mail?.kind], [asking.trace_id, asking.span_id, 3]);
    assert.equal(mail?.attributes['server.address'], new URL(signet.mailbox.url).hostname);

    const [line] = signet.logLines.map((text) => JSON.parse(text)).filter(({ id }) => id === request_id);
    assert.equal(line.trace_id, trace_id);
    const events = await signet.auditLog({ action: 'session.started' });
    assert.ok(events.some(({ event_id }) => event_id.endsWith(`.${request_id}`)));
    assert.notEqual(trace_id, traceparent.split('-')[1], 'a stranger does not choose the trace');
    assert.deepEqual(request.links, [{ trace_id: traceparent.split('-')[1], span_id: traceparent.split('-')[2] }]);
    assert.ok(
      spans.every(({ parent_id, kind }) => parent_id !== '' || kind === 2),
      'jobs make no traces of their own',
    );
    for (const { body } of collector.requests)
      for (const text of [user.user_id, user.email, 's3cret', '/hook']) assert.ok(!body.includes(text), text);
  },
);

test('the trace of a trusted proxy goes on, and a sampler decides about others', async (t) => {
  const collector = await openCollector(t);
  const tracer = tracerTo(collector, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
  const signet = await startSignet(t, { env: { SIGNET_TRUST_PROXY: '127.0.0.1' }, tracer });
  const ask = async (path: string, headers: Record<string, string>) =>
    (await fetch(signet.url + path, { headers })).headers.get('x-request-id');
  assert.equal(await ask('/signin', {}), null, 'not sampled, and not logged');
  const unsampled = traceparent.replace(/01$/, '00');
  const unreadable = ['', 'x', `${traceparent}-x`, traceparent.toUpperCase(), traceparent.replace(/^00/, 'ff')];
  unreadable.push(`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `00-${'a'.repeat(32)}-${'0'.repeat(16)}-01`, unsampled);
  for (const header of unreadable) assert.equal(await ask('/signin', { traceparent: header }), null, header);
  assert.equal(await ask('/readyz', { traceparent }), null, 'probes have no span');
  assert.match((await ask('/nowhere/usr_1?code=abc', { traceparent })) ?? '', /^req_[\w-]{32}$/);
  assert.match((await ask('/signin?code=abc', { traceparent: `01${traceparent.slice(2)}-later` })) ?? '', /^req_/);
  await signet.deps.tracer.close();
  const [, trace_id, parent] = traceparent.split('-');
  const requests = collector.spans.filter(({ kind }) => kind === 2);
  assert.deepEqual(
    requests.map((span) => [span.name, span.trace_id, span.parent_id, span.links]),
    [
      ['GET', trace_id, parent, []],
      ['GET /signin', trace_id, parent, []],
    ],
  );
  for (const { body } of collector.requests) assert.ok(!body.includes('abc') && !body.includes('usr_1'));
});

test('a server sends its spans under the name that it was given, also the last ones', async (t) => {
  const collector = await openCollector(t);
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20c2VjcmV0',
    OTEL_SERVICE_NAME: 'sign-in',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  };
  const server = await startServer(t, { ...(await bareSettings(t)), ...variables });
  const answer = await fetch(`${server.url}/signin`);
  assert.match(answer.headers.get('x-request-id') ?? '', /^req_[\w-]{32}$/);
  assert.equal(collector.requests.length, 0, 'spans are sent together');
  const { code, stderr } = await server.stop();
  assert.deepEqual([code, stderr.includes('c2VjcmV0')], [0, false]);
  const [sent] = collector.requests;
  assert.deepEqual([sent?.path, sent?.headers.authorization], ['/v1/traces', 'Basic c2VjcmV0']);
  const [resource] = collector.resources;
  assert.equal(resource?.['service.name'], 'sign-in');
  assert.equal(resource?.['deployment.environment.name'], 'test');
  assert.match(String(resource?.['service.instance.id']), /^node_/);
  assert.ok(collector.spans.some(({ name }) => name === 'GET /signin'));
});

test('each span that is lost is counted, also where there was no room for it', async (t) => {
  const collector = await openCollector(t);
  collector.holds = true;
  const sizes = { OTEL_BSP_MAX_QUEUE_SIZE: '4', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2' };
  const lines: { error?: string; spans?: number }[] = [];
  const tracer = tracerTo(collector, { ...sizes, OTEL_EXPORTER_OTLP_TIMEOUT: '50' }, lines);
  for (let times = 0; times < 10; times += 1) tracer.startRequest({}, undefined, false).end('GET /', {});
  await tracer.close();
  const [first] = lines;
  assert.deepEqual(
    [first?.error, first?.spans],
    ['queue_full', 1],
    'the first is logged at once, the others at the end',
  );
  assert.equal(
    lines.reduce((sum, { spans = 0 }) => sum + spans, 0),
    10,
  );
});

test('a collector that is away or refuses changes nothing but the log', async (t) => {
  const collector = await openCollector(t);
  collector.status = 403;
  const variables = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/here`, OTEL_BSP_SCHEDULE_DELAY: '10' };
  let said = '';
  const refused = Promise.withResolvers<void>();
  const hear = (text: string) => {
    said += text;
    if (said.includes('spans could not be sent')) refused.resolve();
  };
  const server = await startServer(t, { ...(await bareSettings(t)), ...variables }, { hear });
  for (let times = 0; times < 5; times += 1) assert.equal((await fetch(`${server.url}/signin`)).status, 200);
  await refused.promise;
  while (collector.requests.length < 2) assert.equal((await fetch(`${server.url}/signin`)).status, 200);
  assert.equal((await server.stop()).code, 0);
  const lines = said.split('\n').filter((line) => line.includes('spans could not be sent'));
  assert.equal(lines.length, 2, 'once a minute, and at the end');
  assert.deepEqual(
    { ...JSON.parse(lines[0]!), time: 0, spans: 0 },
    {
      level: 40,
      time: 0,
      spans: 0,
      error: 403,
      msg: 'spans could not be sent to OTEL_EXPORTER_OTLP_ENDPOINT and are lost',
    },
  );
  assert.equal(collector.requests[0]?.path, '/here');

  const signet = await startSignet(t, { tracer: tracerTo({ url: 'http://127.0.0.1:9' }) });
  assert.equal((await fetch(`${signet.url}/signin`)).status, 200);
  await signet.deps.tracer.close(); // in time
});
