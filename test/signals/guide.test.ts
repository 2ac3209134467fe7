import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { signalTypes } from '../../src/signals/events.ts';
import { type Json, poll, sessionRevoked, signalApp, signalClient } from '../support/signal-receiver.ts';
import { startSignet } from '../support/signet.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/signals.md'), 'utf8');

/** What is there, and what each text begins with: `usr_…`. */
const shapeOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]))
    : typeof value === 'number'
      ? 'number'
      : String(value).replace(/_(?:[\w-]{20,}|…).*$/, '_');

test('the requests of the guide make a stream and verify it, and its example is what a sign-out sends', async (t) => {
  const signet = await startSignet(t);
  const client = await signalClient(signet);
  const requests = [...guide.matchAll(/curl -X POST https:\/\/id\.example\.com(\S+) (.*)-d '(.*)'/g)];
  const isOfApp = ([, , headers = '']: readonly string[]) => headers.includes('-u "$CLIENT_ID:$CLIENT_SECRET"');
  const ofApp = requests.filter(isOfApp);
  assert.deepEqual([requests.length, ofApp.length], [3, 1]);
  const app = await signalApp(signet);
  for (const [, path, , body] of ofApp) {
    const { authorization } = app.service;
    assert.equal((await app.call('POST', `${signet.url}${path}`, body, authorization)).status, 201);
  }
  let stream_id = '';
  for (const [, path, , body = ''] of requests.filter((one) => !isOfApp(one))) {
    const { status, json } = await client.call('POST', `${signet.url}${path}`, body.replace('STREAM_ID', stream_id));
    assert.ok(status === 201 || status === 204, `${path} ${status}`);
    stream_id ||= String(json.stream_id);
  }
  const delivery = { method: poll };
  const patched = await client.call('PATCH', 'configuration_endpoint', { stream_id, delivery });
  await (await signet.signedInUser()).browser.post('/signout');
  await runJobs(signet.deps, ['seal the audit log']);
  const { sets } = await client.poll(patched.json);
  const tokens = await Promise.all(Object.values(sets).map(client.read));
  const signOut = tokens.find(({ events }) => sessionRevoked in events);
  const [, example = '{}'] = /```json\n([\s\S]*?)```/.exec(guide) ?? [];
  const said = JSON.parse(example.replaceAll('https://id.example.com', signet.url)) as Json;
  assert.deepEqual(shapeOf(signOut), shapeOf(said));
  for (const type of signalTypes) assert.ok(guide.includes(type), type);
});
