import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { exampleSettings } from '../browser/example-process.ts';
import { runCommand, succeed } from '../support/command-line.ts';
import { operatorsDay } from '../support/operators-day.ts';
import { pngOf } from '../support/pictures.ts';
import { scratchFolder } from '../support/scratch.ts';
import { bareSettings, type Settings } from '../support/server-process.ts';
import { until } from '../support/until.ts';
import { startUpstream } from '../support/upstream.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** Instructions. A changelog tells of what was, and `docs/spec` of what is wanted. */
const documents = [
  'README.md',
  ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
  ...['decisions', 'incidents'].flatMap((folder) =>
    readdirSync(join(root, 'docs', folder)).map((name) => `docs/${folder}/${name}`),
  ),
  ...readdirSync(join(root, 'examples')).map((name) => `examples/${name}/README.md`),
  'bench/README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
].filter((path) => path.endsWith('.md') && path !== 'docs/security-requirements.md' && existsSync(join(root, path)));

const tools = 'npm|npx|node|bin/signet|signet|curl|openssl';

type Printed = { document: string; command: string };

/** Lines of code blocks, fenced or indented, without the remark behind them. They are run as they stand. */
function linesIn(document: string): Printed[] {
  let isFenced = false;
  return read(document)
    .split('\n')
    .flatMap((line) => {
      if (line.trimStart().startsWith('```')) isFenced = !isFenced;
      const isCode = isFenced || line.startsWith('    ');
      const command = line.trim().replace(/\s{2,}.*$/, '');
      return isCode && new RegExp(`^(?:\\(umask 077 && )?(?:${tools}) `).test(command) ? [{ document, command }] : [];
    });
}

/** Commands within a sentence: whole ones, and mere names of commands and of their options. */
const mentionsIn = (document: string): Printed[] =>
  [...read(document).matchAll(new RegExp(`\`((?:${tools}) [^\`]+)\``, 'g'))].map(([, command = '']) => ({
    document,
    command: command.replaceAll(/\s+/g, ' '),
  }));

const onceEach = (printed: Printed[]): Printed[] =>
  [...new Map(printed.toReversed().map((one) => [one.command, one])).values()].toReversed();

const words = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');

type Ended = { code: number | null; output: string };

/** As `npm run` does it: the script and the arguments behind it, with the project's programs at hand. */
function shell(line: string, { env = {}, cwd = root }: { env?: Settings; cwd?: string } = {}) {
  const PATH = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`;
  const ofRun = Object.entries(process.env).filter(
    ([name]) => name.startsWith('TEST_') || name === 'NODE_COMPILE_CACHE',
  );
  const shared = Object.fromEntries(ofRun);
  const child = spawn('sh', ['-c', line], { cwd, detached: true, env: { PATH, ...(shared as Settings), ...env } });
  const said = { output: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.output += text;
    });
  const ended = once(child, 'close').then(([code]): Ended => ({ code, ...said }));
  /** The whole group: a shell and a watcher have children of their own. */
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
    return ended;
  };
  const says = (text: string) => {
    const hasSaid = () => said.output.includes(text);
    const early = ended.then(({ code }) => assert.ok(hasSaid(), `${line} ended with ${code}:\n${said.output}`));
    return Promise.race([until(`${line} says: ${text}`, hasSaid, () => said.output), early]);
  };
  return { ended, stop, says };
}

/** `npm start`, `npm test` and `npm run NAME -- ARGUMENTS` as the line of the script. */
function scriptOf(command: string): string {
  const [, short, long, args = ''] = /^npm (?:(start|test)|run (\S+))(?: -- (.*))?$/.exec(command) ?? [];
  const script = scripts[short ?? long ?? ''];
  assert.ok(script, `${command}: package.json has no such script`);
  return `${script} ${args}`;
}

/** Serves until the end of the test, or of the process. */
async function serving(t: TestContext, command: string, env: Settings, isReady: string): Promise<void> {
  const { stop, says } = shell(scriptOf(command), { env });
  t.after(stop);
  await says(isReady);
}

const ofCi = readFileSync(join(root, '.ci/run'), 'utf8').split('\n');

/** What is run in an order, from an empty folder: `npm run test:install`. */
const ofTheDay = new Set(operatorsDay.flatMap(({ commands }) => commands));
ofTheDay.add('signet restore /var/backups/signet/monday.db'); // the trial in restore.test.ts
// Refused while a server runs, as it does here; restore.test.ts runs it.
ofTheDay.add('signet restore --after-copy --reason "put back the snapshot of Monday"');

// They make a file, or read one; round-trip.test.ts runs them.
for (const command of [
  'signet export signet.age --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p',
  'signet import signet.age --identity key.txt --dry-run',
  'signet import signet.age --identity key.txt',
])
  ofTheDay.add(command);

// It asks the issuer and for the secret, as the one below is.
ofTheDay.add('signet providers add acme --label Acme --issuer https://id.acme.example --client-id signet');

for (const command of ['signet move', 'signet move --finish']) ofTheDay.add(command); // move.test.ts
for (const command of ['add b', 'move c7 --to b', 'list']) ofTheDay.add(`signet cells ${command}`); // cells.test.ts
for (const command of ['add 10.0.0.8:5432', 'move c7 --to 10.0.0.8:5432']) {
  ofTheDay.add(`signet cells ${command}`); // npm run test:citus, with other addresses
}

/** How each npm command is run, by this test or by another. */
const npmCommands: Record<string, (t: TestContext, given: Given) => Promise<void>> = {
  ...Object.fromEntries(
    ['npm ci', 'npm test', 'npm run test:long', 'npm run lint', 'npm run typecheck'].map((command) => [
      command,
      async () => assert.ok(ofCi.includes(command), '.ci/run runs it'),
    ]),
  ),
  'npm start': async () => {}, // the server of all the others here
  'npm run example': async (t, { settings }) => {
    const env = { ...settings, ...(await exampleSettings(t, `http://localhost:${settings.SIGNET_PORT}`)) };
    await serving(t, 'npm run example', env, 'ready at');
  },
  'npm run build': async () => {}, // build.test.ts
  'npm run prepare': async () => {}, // build.test.ts
  'npm ci --omit=dev': async () => {}, // what it leaves out, too
  'npm run build:executable': async () => {}, // npm run test:install
  'npm run build:package': async () => {}, // npm run test:install
  'npm run test:install': async () => {}, // it takes minutes
  'npm install --global ./signet-0.1.0.tgz': async () => {}, // npm run test:install
  'npx ./signet-0.1.0.tgz serve': async () => {}, // npm run test:install
  'npm run dev:seed': async () => {}, // dev-seed.test.ts
  // Made once for each release; upgrade.test.ts starts on what was made.
  'npm run fixture:store': async () => {},
  'npm run fixture:store -- 0.2.0': async () => {},
  'npm run docs': async () => {}, // documentation.test.ts
  'npm run count:touches': async () => {}, // floor-plan.test.ts counts with it
  'npm run count:touches -- HEAD': async () => {
    const { code, output } = await shell(scriptOf('npm run count:touches -- HEAD')).ended;
    assert.equal(code, 0, output);
    assert.match(output, /^HEAD: .*\n.*\nfield of a client +policy_uri +\d/m);
  },
  'npm run bench:status-lists': async () => {
    const { code, output } = await shell(scriptOf('npm run bench:status-lists -- --only sizes --json')).ended;
    assert.equal(code, 0, output);
    const { sizes } = JSON.parse(output) as { sizes: { tokens: number; processes: number; bytes: number }[] };
    const { bytes = 0 } = sizes.find(({ tokens, processes }) => tokens === 1_000_000 && processes === 1) ?? {};
    assert.ok(bytes > 20_000 && bytes < 40_000, output);
  },
  'npm run sheets': async () => {}, // with its options:
  'npm run sheets -- --languages ja --to sheets': async () => {
    const folder = await scratchFolder('sheets');
    const command = scriptOf(`npm run sheets -- --languages de --pages sign-in,account --to ${folder}`);
    const { code, output } = await shell(command).ended;
    assert.equal(code, 0, output);
    const looks = ['320', '390', '1280'].flatMap((width) => [`de-${width}-dark-1.png`, `de-${width}-light-1.png`]);
    assert.deepEqual(readdirSync(folder).sort(), looks.sort());
    const misspelt = await shell(scriptOf(`npm run sheets -- --languages jp --to ${folder}`)).ended;
    assert.equal(misspelt.code, 2);
    assert.match(misspelt.output, /There is no language 'jp'/);
  },
  'npm run docs:screenshots': async () => {}, // screenshots.test.ts
  'npm run docs:import-schema': async () => {}, // format.test.ts
  'npm run docs:relying-parties': async () => {}, // relying-party-docs.test.ts
  'npm run docs:performance': async () => {}, // performance-docs.test.ts
  'npm run dev': async (t) => serving(t, 'npm run dev', await bareSettings(t), 'Signet is ready'),
  'npm run test:browsers': async () => {}, // it takes minutes; main.test.ts beside it starts it
  'npm run test:browsers -- --help': async () => {}, // main.test.ts
  'npm run test:cells': async () => {}, // it is npm test on another store
  'npm run test:citus': async () => {
    const { code, output } = await shell(scriptOf('npm run test:citus')).ended;
    assert.equal(code, 0, output);
    assert.match(output, /set CITUS_SERVERS to URLs of a coordinator and two workers/);
  },
  'npm run test:conformance': async () => {
    const { code, output } = await shell(scriptOf('npm run test:conformance')).ended;
    assert.equal(code, 0, output);
    assert.match(output, /Skipped: no suite/);
  },
  'npm run test:clients': async () => {}, // it installs languages' packages; main.test.ts beside it starts it
  'npm run format': async () => {
    const cwd = await scratchFolder('format');
    try {
      for (const name of ['biome.json', '.gitignore']) copyFileSync(join(root, name), join(cwd, name));
      mkdirSync(join(cwd, 'src'));
      writeFileSync(join(cwd, 'src/one.ts'), 'export const one   = "1"');
      const { code, output } = await shell(scripts.format ?? '', { cwd }).ended;
      assert.equal(code, 0, output);
      assert.equal(readFileSync(join(cwd, 'src/one.ts'), 'utf8'), "export const one = '1';\n");
    } finally {
      rmSync(cwd, { recursive: true });
    }
  },
};

async function runNpm(t: TestContext, command: string, given: Given): Promise<void> {
  const run = npmCommands[command];
  if (run) return run(t, given);
  if (
    /^npm run (?:bench(?::size|:memory|:move|:layouts|:status-lists)?|torture|simulate|mutate)(?: --|$)/.test(command)
  )
    return takesOptions(command);
  assert.ok(command.startsWith('npm run test:one -- '), `no test runs: ${command}`);
  const [file = '', name] = words(command).slice(4);
  if (name === undefined) return hasCases(file); // of the three forms the longest is run here, and each of them below
  const { code, output } = await shell(scriptOf(command)).ended;
  assert.equal(code, 0, output);
}

/** A file of tests that is there, or a name that some have. */
function hasCases(fileOrName: string): void {
  const isThere = fileOrName.endsWith('.test.ts')
    ? existsSync(join(root, fileOrName))
    : globSync('test/**/*.test.ts', { cwd: root }).some((file) => read(file).includes(`${fileOrName}:`));
  assert.ok(isThere, fileOrName);
}

const knownOptions = new Map<string, Promise<Ended>>();

/**
 * It takes minutes; `bench.test.ts` runs the short form. That it would start with these options is what --help shows, asked
 * once for each script, with the options of all the commands that documents print.
 */
async function takesOptions(command: string): Promise<void> {
  const [, name = ''] = /^npm run (\S+)/.exec(command) ?? [];
  const script = scripts[name] ?? '';
  let asked = knownOptions.get(name);
  if (!asked) {
    const printed = documents.flatMap((document) => [...linesIn(document), ...mentionsIn(document)]);
    const its = printed.filter((one) => `${one.command} `.startsWith(`npm run ${name} `));
    asked = shell([script, ...its.map((one) => scriptOf(one.command).slice(script.length)), '--help'].join(' ')).ended;
    knownOptions.set(name, asked);
  }
  const { code, output } = await asked;
  assert.equal(code, 0, output);
}

type Given = {
  settings: Settings;
  client_id: string;
  secret_id: string;
  credential_id: string;
  api_id: string;
  group_id: string;
  attribute_id: string;
  receiver: Receiver;
};

/** Of signals: its token, and its stream. */
type Receiver = { token: string; stream_id: string };

async function newReceiver(settings: Settings, hasStream = true): Promise<Receiver> {
  const terms = ['--name', 'Gateway', '--permission', 'signals:manage'];
  const made = await succeed(['service-credentials', 'create', ...terms], settings);
  const token = `${made.client_id}.${made.client_secret}`;
  if (!hasStream) return { token, stream_id: '' };
  const answer = await fetch(`http://localhost:${settings.SIGNET_PORT}/v1/signals/streams`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  });
  const { stream_id } = (await answer.json()) as { stream_id: string };
  return { token, stream_id };
}

const newApp = (settings: Settings): Promise<{ client_id?: unknown; client_secret?: unknown }> =>
  succeed(['clients', 'create', '--name', 'Notified', '--redirect-uri', 'https://n.example/cb', '--approve'], settings);

/** A receiver of signals, which has no stream yet where it makes one. */
async function receives(command: string, { settings, receiver }: Given): Promise<void> {
  const { token, stream_id } = command.includes('STREAM_ID') ? receiver : await newReceiver(settings, false);
  const app = command.includes('$CLIENT_ID') ? await newApp(settings) : {};
  const filled = command
    .replace('$TOKEN', token)
    .replace('$CLIENT_ID:$CLIENT_SECRET', `${app.client_id}:${app.client_secret}`)
    .replace('https://id.example.com', `http://localhost:${settings.SIGNET_PORT}`)
    .replace('STREAM_ID', stream_id);
  const { code, output } = await shell(`${filled} --silent --fail-with-body`).ended;
  assert.equal(code, 0, `${filled}: ${output}`);
}

/** What the examples of the command line speak of: an account, a client with a secret, a service credential, a provider. */
async function createSubjects(t: TestContext, settings: Settings): Promise<Given> {
  const { issuer } = await startUpstream(t, () => Math.floor(Date.now() / 1000));
  const provider = ['acme', '--label', 'Acme', '--issuer', issuer, '--client-id', 'signet', '--client-secret-stdin'];
  await succeed(['providers', 'add', ...provider], settings, 'a secret');
  for (const name of ['Ada', 'Anna', 'Ben']) {
    const account = ['--email', `${name.toLowerCase()}@example.com`, '--name', name, '--password-stdin', '--verified'];
    await succeed(['users', 'create', ...account], settings, 'ordinary words in a row');
  }
  const client = await succeed(
    ['clients', 'create', '--name', 'An app', '--redirect-uri', 'https://a.example/cb', '--approve'],
    settings,
  );
  const client_id = String(client.client_id);
  const { secrets } = await succeed(['clients', 'secrets', 'list', client_id], settings);
  const credential = await succeed(
    ['service-credentials', 'create', '--name', 'mail', '--permission', 'entitlements:write', '--product', 'mail'],
    settings,
  );
  const scope = ['--scope', 'orders:read', '--sentence-en', 'Read your orders'];
  const api = await succeed(
    ['apis', 'register', '--identifier', 'https://orders.example.com', '--name', 'Orders', ...scope],
    settings,
  );
  const [{ secret_id = '' } = {}] = secrets as { secret_id?: string }[];
  const { group_id } = await succeed(['groups', 'create', '--name', 'Operations'], settings);
  const stated = ['--label-en', 'Cost center', '--type', 'string', '--scope', 'profile'];
  const { attribute_id } = await succeed(['attributes', 'define', '--name', 'cost_center', ...stated], settings);
  return {
    settings,
    client_id,
    secret_id,
    credential_id: String(credential.client_id),
    api_id: String(api.api_id),
    group_id: String(group_id),
    attribute_id: String(attribute_id),
    receiver: await newReceiver(settings),
  };
}

/** The line that a check prints, once the server has sealed the first events. */
async function newestSeal(settings: Settings): Promise<string> {
  let newest = '';
  await until('the server seals something', async () => {
    const { stdout } = await runCommand(['audit', 'verify'], { env: settings });
    newest = /newest {2}(\S+)\n/.exec(stdout)?.[1] ?? '';
    return newest !== '';
  });
  return newest;
}

function pictureFile(name: string, width = 240): string {
  const path = join(tmpdir(), `${process.pid}-${name}`);
  writeFileSync(path, pngOf({ width, height: 60 }));
  return path;
}

/** With what stands in capitals in place of something that only its reader knows. */
async function filledIn(
  args: string[],
  { settings, client_id, secret_id, credential_id, api_id, group_id, attribute_id, receiver }: Given,
): Promise<string[]> {
  const found: Record<string, () => Promise<string> | string> = {
    CLIENT_ID: () => (args[0] === 'service-credentials' ? credential_id : client_id),
    SECRET_ID: () => secret_id,
    API_ID: () => api_id,
    GROUP_ID: () => group_id,
    ATTRIBUTE_ID: () => attribute_id,
    STREAM_ID: () => receiver.stream_id,
    'SEQ:SEAL': () => newestSeal(settings),
    'logo.png': () => pictureFile('logo.png'),
    'logo-dark.png': () => pictureFile('logo-dark.png'),
    'acme.png': () => pictureFile('acme.png', 60),
  };
  return Promise.all(args.map(async (arg) => found[arg]?.() ?? arg));
}

async function runSignet(command: string, given: Given): Promise<void> {
  const [, ...args] = words(command);
  const { code, stdout, stderr } = await runCommand(await filledIn(args, given), { env: given.settings });
  assert.equal(code, 0, `${command}: ${stderr}${stdout}`);
}

/** A command that a sentence names is there, and so are the options that it names. */
async function isThere(command: string): Promise<void> {
  const [, ...args] = words(command);
  const name = args.filter((arg) => !arg.startsWith('-') && /^[a-z-]+$/.test(arg));
  const { code, stdout, stderr } = await runCommand([...name, '--help']);
  assert.equal(code, 0, `${command}: ${stderr}`);
  for (const option of args.filter((arg) => arg.startsWith('--'))) {
    assert.ok(`${stdout} --version`.includes(option), `${command}: there is no ${option}`);
  }
}

/** A program that administers by a credential of its own. */
async function administers(command: string, settings: Settings): Promise<void> {
  const terms = ['--permission', 'users:read,users:write', '--expires-in-days', '1'];
  const made = await succeed(['service-credentials', 'create', '--name', 'Leavers', ...terms], settings);
  const account = [
    '--email',
    `${String(made.client_id).toLowerCase()}@example.com`,
    '--name',
    'Leaver',
    '--password-stdin',
  ];
  const { user_id } = await succeed(['users', 'create', ...account], settings, 'ordinary words in a row');
  const filled = command
    .replace('SERVICE_ID:SERVICE_SECRET', `${made.client_id}:${made.client_secret}`)
    .replace('https://id.example.com', `http://localhost:${settings.SIGNET_PORT}`)
    .replace('USER_ID', String(user_id));
  const { code, output } = await shell(`${filled} --silent --fail-with-body`).ended;
  assert.equal(code, 0, `${filled}: ${output}`);
}

test('every command that a document prints works as it is printed', async (t) => {
  const settings = { ...(await bareSettings(t)), SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1' };
  await serving(t, 'npm start', settings, 'Signet is ready');
  const given = await createSubjects(t, settings);
  const lines = onceEach(documents.flatMap(linesIn));
  assert.ok(lines.length > 15, 'it reads the documents');
  for (const { document, command } of lines) {
    await t.test(`${document}: ${command}`, async (t) => {
      if (/^np[mx] /.test(command)) return runNpm(t, command, given);
      if (ofTheDay.has(command)) return;
      if (command.startsWith('curl -u SERVICE_ID:')) return administers(command, settings);
      if (command.includes('/v1/signals/')) return receives(command, given);
      assert.match(command, /^(?:bin\/)?signet /, `no test runs: ${command}`);
      await runSignet(command.replace(/ > [\w.]+$/, ''), given);
    });
  }

  const mentions = onceEach(documents.flatMap(mentionsIn));
  for (const { document, command } of mentions) {
    if (lines.some((line) => line.command === command)) continue;
    await t.test(`${document}, in a sentence: ${command}`, async (t) => {
      if (/^np[mx] /.test(command)) return runNpm(t, command, given);
      if (ofTheDay.has(command)) return;
      if (command.startsWith('openssl ')) {
        const { code, output } = await shell(command).ended;
        assert.deepEqual([code, Buffer.from(output, 'base64').length], [0, 32], output);
        return;
      }
      assert.match(command, /^(?:bin\/)?signet /, `no test runs: ${command}`);
      await isThere(command);
    });
  }

  const ofOthers = [
    'bench',
    'prebench',
    'bench:size',
    'prebench:size',
    'prebench:memory',
    'prebench:move',
    'prebench:layouts',
    'test:one',
  ]; // npm runs `pre…` before each
  for (const name of Object.keys(scripts).filter((name) => !ofOthers.includes(name))) {
    const command = ['start', 'test'].includes(name) ? `npm ${name}` : `npm run ${name}`;
    if ([...lines, ...mentions].some((printed) => printed.command === command)) continue;
    await t.test(`package.json: ${command}`, (t) => runNpm(t, command, given));
  }
});

test('npm run test:one runs one case at any depth and no other, and fails when it ran none', async () => {
  const file = 'test/support/fixture-for-test-one.ts';
  const nothing = '0 ran, 0 failed: no test of that name';
  const one = async (...args: string[]) => {
    const { code, output } = await shell(`${scripts['test:one']} ${args.map((arg) => `"${arg}"`).join(' ')}`).ended;
    const printed = output.match(/^(the set-up|another case|the innermost case)$/gm) ?? [];
    return [code, /(\d+ ran, \d+ failed.*)\n$/.exec(output)?.[1] ?? output, ...printed];
  };
  const all = await Promise.all([
    one(file),
    one(file, 'inner that passes'),
    one(file, 'inner that fails'),
    one(file, 'innermost'),
    one(file, 'another'),
    one(file, 'nothing'),
    // In pieces, since this file would be one that has them.
    one(['markup is text', 'with its direction'].join(', ')),
    one(['a name', 'that no file has'].join(', ')),
  ]);
  assert.deepEqual(all, [
    [1, '5 ran, 2 failed', 'the set-up', 'the innermost case', 'another case'],
    [0, '1 ran, 0 failed', 'the set-up'],
    [1, '1 ran, 1 failed', 'the set-up', 'the innermost case'],
    [0, '1 ran, 0 failed', 'the set-up', 'the innermost case'],
    [0, '1 ran, 0 failed', 'another case'],
    [1, nothing, 'the set-up', 'another case', 'the set-up', 'the innermost case', 'another case'],
    [0, '1 ran, 0 failed'],
    [1, nothing],
  ]);
  const [code, said] = await one('test/nowhere.test.ts', 'x');
  assert.equal(code, 2);
  assert.match(String(said), /^Usage: npm run test:one -- FILE \[NAME\]/);
});

test('npm test: a run that passes and prints an error of ours does not pass', async () => {
  const { code, output } = await shell(`${scriptOf('npm test')} test/support/fixture-that-logs.ts`).ended;
  assert.match(output, /pass 1\n/);
  assert.match(output, /^\{"level":50/m);
  assert.match(output, /^An error was logged that no test expected/m);
  assert.equal(code, 1);
});

test('every setting that a document names is one that docs/configuration.md has', () => {
  const namesIn = (document: string) => read(document).match(/\bSIGNET_[A-Z0-9_]*[A-Z0-9]\b/g) ?? [];
  const known = new Set(namesIn('docs/configuration.md'));
  const isKnown = (name: string) => known.has(name) || /^SIGNET_(?:PROVIDER|GOOGLE)/.test(name);
  const unknown = documents.flatMap((document) =>
    namesIn(document).flatMap((name) => (isKnown(name) ? [] : [`${document}: ${name}`])),
  );
  assert.deepEqual(unknown, []);
});
