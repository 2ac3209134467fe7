import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { readConfig } from '../../src/app/config.ts';

type Json = Record<string, unknown>;
const path = (name: string) => new URL(`../../deploy/${name}`, import.meta.url);
const text = readFileSync(path('kubernetes/signet.yaml'), 'utf8');
const manifests = parseAllDocuments(text).map((document) => document.toJS({}) as Json);
const one = (kind: string) => manifests.find((manifest) => manifest.kind === kind) as Json & { spec: Json };

test('the manifests are YAML, and of the kinds that their document names', () => {
  const kinds = ['ServiceAccount', 'Service', 'PodDisruptionBudget', 'Deployment'];
  assert.deepEqual(manifests.map(({ kind }) => kind).sort(), [...kinds].sort());
  const { metadata, spec } = one('Service');
  assert.equal((metadata as Json).name, 'signet');
  const template = (one('Deployment').spec as { template: { metadata: { labels: Json }; spec: Json } }).template;
  assert.deepEqual(spec.selector, template.metadata.labels);
  assert.equal(template.spec.enableServiceLinks, false);
});

test('the program takes the settings of the manifest, also beside the variables of a Service of that name', () => {
  const { containers } = (one('Deployment').spec as { template: { spec: { containers: Json[] } } }).template.spec;
  const [container = {}] = containers;
  const env = Object.fromEntries((container.env as Json[]).map(({ name, value }) => [String(name), value as string]));
  const { SIGNET_MASTER_KEY_FILE: _, ...others } = env;
  const settings = {
    ...others,
    SIGNET_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    SIGNET_DATABASE_URL: 'postgres://signet@10.0.0.5/signet',
    SIGNET_SERVICE_HOST: '10.96.0.7',
    SIGNET_SERVICE_PORT: '80',
    SIGNET_PORT: 'tcp://10.96.0.7:80',
    SIGNET_PORT_80_TCP: 'tcp://10.96.0.7:80',
  };
  const config = readConfig(settings);
  const ports = (container.ports as { name: string; containerPort: number }[]).map(
    ({ containerPort }) => containerPort,
  );
  assert.deepEqual([config.port, config.operatorPort], ports);
});

test('the manifest has every line of the template that no value changes', () => {
  const template = readFileSync(path('helm/signet/templates/signet.yaml'), 'utf8');
  const lines = template.split('\n').slice(
    0,
    template.split('\n').findIndex((line) => /networkPolicy/.test(line)),
  );
  for (const line of lines.filter((line) => !line.includes('{{'))) assert.ok(text.includes(line), line);
});
