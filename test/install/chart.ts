/**
 * The Helm chart as Helm renders it, held against the schemas of Kubernetes and of the Prometheus operator. Helm and
 * kubectl-validate are built by Go, which a machine may lack.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { scratchFolder } from '../support/scratch.ts';

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/helm/signet');
const programs = ['helm.sh/helm/v3/cmd/helm@v3.19.2', 'sigs.k8s.io/kubectl-validate@v0.0.4'];
const operator = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const definition = 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml';
/** The newest of which kubectl-validate has the schemas itself. */
const kubernetes = '1.30';

const skip = spawnSync('go', ['version']).status === 0 ? false : 'this machine has no Go';
let folder = '';

before(async () => {
  if (skip) return;
  folder = await scratchFolder('chart');
  const go = (...args: string[]) =>
    execFileSync('go', args, { cwd: folder, encoding: 'utf8', env: { ...process.env, GOBIN: folder } });
  for (const program of programs) go('install', program);
  const { Dir } = JSON.parse(go('mod', 'download', '-json', operator)) as { Dir: string };
  mkdirSync(join(folder, 'definitions'));
  cpSync(join(Dir, definition), join(folder, 'definitions/servicemonitors.yaml'));
});
after(() => (folder ? rm(folder, { recursive: true, force: true }) : undefined));

const helm = (...args: string[]) => execFileSync(join(folder, 'helm'), args, { cwd: root, encoding: 'utf8' });

/** Everything that is optional. */
const values = `
serviceMonitor: { enabled: true, interval: 15s, labels: { release: monitoring } }
networkPolicy:
  enabled: true
  ingressFrom: [{ namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: ingress } } }]
  metricsFrom: [{ podSelector: { matchLabels: { app.kubernetes.io/name: prometheus } } }]
imagePullSecrets: [{ name: registry }]
nodeSelector: { kubernetes.io/arch: amd64 }
tolerations: [{ key: identity, operator: Exists, effect: NoSchedule }]
settings: { SIGNET_NAME: "Acme: accounts", SIGNET_WORKERS: 2 }
extraEnv:
  - name: SIGNET_SMTP_URL
    valueFrom: { secretKeyRef: { name: signet, key: smtp-url } }
`;

type Json = Record<string, unknown>;

function renderedWithAll() {
  writeFileSync(join(folder, 'values.yaml'), values);
  const text = helm('template', 'accounts', chart, '-n', 'identity', '-f', join(folder, 'values.yaml'));
  const manifests = parseAllDocuments(text).map((document) => document.toJS({}) as Json);
  const one = (kind: string) =>
    manifests.find((manifest) => manifest.kind === kind) as Json & { spec: Json; metadata: Json };
  return { text, one, kinds: manifests.map(({ kind }) => String(kind)).sort() };
}

function validate(text: string) {
  const path = join(folder, 'rendered.yaml');
  writeFileSync(path, text);
  const args = [path, '--local-crds', join(folder, 'definitions'), '--version', kubernetes];
  const { status, stdout, stderr } = spawnSync(join(folder, 'kubectl-validate'), args, { encoding: 'utf8' });
  return { isValid: status === 0, said: `${stdout}${stderr}` };
}

test('the manifest for those without Helm is what the chart renders', { skip }, () => {
  const withoutRemarks = (text: string) =>
    text
      .replaceAll(/^# (Source|Made of).*\n/gm, '')
      .trim()
      .replace(/^---\n/, '');
  const manifest = readFileSync(join(root, 'deploy/kubernetes/signet.yaml'), 'utf8');
  assert.equal(withoutRemarks(manifest), withoutRemarks(helm('template', 'signet', chart)));
});

test('the chart with all that is optional is valid for Kubernetes and the Prometheus operator', { skip }, () => {
  helm('lint', chart, '--strict', '--set', 'serviceMonitor.enabled=true,networkPolicy.enabled=true');
  const { text, kinds } = renderedWithAll();
  assert.deepEqual(kinds, [
    ...['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Service', 'ServiceAccount', 'ServiceMonitor'],
  ]);
  const { isValid, said } = validate(text);
  assert.ok(isValid, said);
  for (const [right, wrong] of [
    ['interval: 15s', 'interval: soon'],
    ['path: /metrics', 'pfad: /metrics'],
    ['policyTypes: [Ingress]', 'policyTypes: Ingress'],
    ['replicas: 2', 'replicas: two'],
  ] as const) {
    assert.ok(text.includes(right), right);
    assert.equal(validate(text.replace(right, wrong)).isValid, false, wrong);
  }
});

test('Prometheus finds the metrics of the pods by the ServiceMonitor', { skip }, () => {
  const { one } = renderedWithAll();
  const { metadata, spec } = one('ServiceMonitor');
  assert.equal((metadata.labels as Json).release, 'monitoring');
  const service = one('Service');
  const wanted = (spec.selector as { matchLabels: Json }).matchLabels;
  for (const [name, value] of Object.entries(wanted))
    assert.equal((service.metadata.labels as Json)[name], value, name);
  const [endpoint = {}, ...others] = spec.endpoints as Json[];
  assert.deepEqual([endpoint.path, endpoint.interval, others], ['/metrics', '15s', []]);
  const ports = service.spec.ports as { name: string; targetPort: string }[];
  const port = ports.find(({ name }) => name === endpoint.port);
  const pod = (one('Deployment').spec as { template: { metadata: Json; spec: { containers: Json[] } } }).template;
  assert.deepEqual(service.spec.selector, pod.metadata.labels);
  const [container = {}] = pod.spec.containers;
  const target = (container.ports as Json[]).find(({ name }) => name === port?.targetPort);
  const env = Object.fromEntries((container.env as Json[]).map(({ name, value }) => [String(name), value]));
  assert.equal(String(target?.containerPort), env.SIGNET_OPERATOR_PORT);
  assert.deepEqual([env.SIGNET_NAME, env.SIGNET_WORKERS], ['Acme: accounts', '2']);
});
