import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { targets } from '../../bench/targets.ts';
import { charts, pages, type Results, readResults } from '../../scripts/performance-docs.ts';

const docs = join(import.meta.dirname, '../../docs');

test('docs/performance.md and its charts are what npm run docs:performance draws of the measured figures', () => {
  const drawn = pages(readResults());
  for (const [path, text] of drawn) {
    assert.equal(readFileSync(join(docs, path), 'utf8'), text, `${path}: run npm run docs:performance`);
  }
  const kept = globSync('performance/*.svg', { cwd: docs }).map((path) => path.replaceAll('\\', '/'));
  assert.deepEqual(
    kept.filter((path) => !drawn.has(path)),
    [],
    'no page shows these',
  );
  const shown = [...(drawn.get('performance.md') ?? '').matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path]) => path);
  assert.deepEqual(shown.toSorted(), kept.toSorted());
});

/** Figures as good as they have to be, of whatever the last run has measured. */
function asRequired({
  bench,
  slowDisk,
  workers,
  postgres,
  size,
  parts,
  windows,
  layouts,
  statusLists,
  scale,
}: Results): Results {
  const { footprint } = targets;
  const { ratio, key_set_ms } = targets.size;
  const hash = 30_000;
  return {
    parts,
    windows,
    layouts,
    statusLists,
    scale,
    bench: {
      ...bench,
      ...footprint,
      memory_mb: { signet: 2 * footprint.rested_mb },
      rested_mb: { signet: footprint.rested_mb },
      ratios: structuredClone(targets.ratios),
      processor_us: {
        signet: { ...bench.processor_us.signet, sign_in: hash * targets.sign_in },
        floor: { sign_in: hash },
      },
    },
    postgres: {
      ...postgres,
      wal_bytes: footprint.wal_bytes,
      ratios: { oidc_provider: { ...targets.postgres.oidc_provider } },
      processor_us: { signet: { code_exchange: targets.postgres.exchange_us } },
    },
    workers: { ...workers, workers: { ...targets.workers } },
    slowDisk: { ...slowDisk, slow_disk: { code_exchange: targets.slow_disk } },
    size: {
      ...size,
      comparisons: [{ name: 'GET /admin', small_ms: 1, large_ms: ratio, ratio, key_set_ms }],
      works: [],
      start_ms: { small: 1, large: targets.size.start_ms },
      tables: { grants: { rows: 10, bytes: 10 * targets.size.bytes_per_grant } },
      rows_per_refresh: targets.size.rows_per_refresh,
    },
  };
}

test('a target that is not reached is said, on the page and in the chart', () => {
  const good = asRequired(readResults());
  assert.match(pages(good).get('performance.md') ?? '', /^Every target is reached\.$/m);
  assert.doesNotMatch([...charts(good).values()].join(), /not reached/);

  good.bench.ratios.oidc_provider!.refresh = targets.ratios.oidc_provider.refresh - 0.01;
  const page = pages(good).get('performance.md') ?? '';
  assert.match(page, /^\*\*1 of \d+ targets are not reached\.\*\*/m);
  assert.match(page, /^\| refresh, as a multiple of oidc-provider \| 2\.99 × \| at least 3 × \| \*\*no\*\* \|$/m);
  assert.match(charts(good).get('ratios.svg') ?? '', /refresh, beside oidc-provider.*at least 3, not reached/);
});

test('a chart begins at zero, has its bars in proportion, and says in words what it shows', () => {
  const results = asRequired(readResults());
  results.bench.rates = { signet: { code_exchange: 3000 }, floor: { code_exchange: 1500 } };
  const svg = charts(results).get('rates.svg') ?? '';
  const ticks = [...svg.matchAll(/class="tick"[^>]*>([^<]*)</g)].map(([, text]) => text);
  assert.deepEqual(ticks, ['0', '500', '1 000', '1 500', '2 000', '2 500', '3 000']);
  const [longer, shorter] = ['signet', 'floor'].map((series) =>
    Number(new RegExp(`class="${series}" x="16" y="[\\d.]+" width="([\\d.]+)"`).exec(svg)?.[1]),
  );
  assert.equal(longer, shorter! * 2);
  assert.match(svg, /<title id="title">Answers per second<\/title>/);
  assert.match(svg, /<desc id="description">[^<]*code exchange: 3 000 Signet, 1 500 the floor\.<\/desc>/);
  assert.match(svg, /prefers-color-scheme: dark/);
});
