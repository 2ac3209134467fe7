import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { openTracer } from './open-tracer.ts';

const batch = {
  scheduledDelayMillis: undefined,
  exportTimeoutMillis: undefined,
  maxQueueSize: undefined,
  maxExportBatchSize: undefined,
};

/** How many of a thousand requests are sampled, and what the log says. */
async function sampled(named: { sampler?: string; samplerArgument?: string }): Promise<[number, string[]]> {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const { startRequest } = openTracer(
    { sampler: undefined, samplerArgument: undefined, batch, ...named },
    { log, clock: () => 0 },
  );
  const requests = Array.from({ length: 1000 }, () => startRequest({}, undefined, false));
  return [requests.filter(({ request_id }) => request_id !== undefined).length, lines];
}

test('the sampler is the one that is named', async () => {
  assert.deepEqual(await sampled({}), [1000, []]);
  assert.deepEqual(await sampled({ sampler: 'always_on' }), [1000, []]);
  assert.deepEqual(await sampled({ sampler: 'always_off' }), [0, []]);
  for (const name of ['traceidratio', 'parentbased_traceidratio']) {
    const [some, lines] = await sampled({ sampler: name, samplerArgument: '0.5' });
    assert.ok(some > 300 && some < 700, `${some}`); // 12 standard deviations
    assert.deepEqual(lines, []);
    assert.deepEqual(await sampled({ sampler: name, samplerArgument: '0' }), [0, []]);
    assert.deepEqual(await sampled({ sampler: name }), [1000, []]);
    const [all, [warning]] = await sampled({ sampler: name, samplerArgument: '2' });
    assert.equal(all, 1000);
    assert.match(warning ?? '', /OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1/);
  }
  for (const name of ['jaeger_remote', 'constructor']) {
    const [all, [warning]] = await sampled({ sampler: name });
    assert.equal(all, 1000);
    assert.match(warning ?? '', /names no known sampler/);
  }
});
