/** `npm run bench:memory`: how much memory a server takes at most. What it measures: README.md. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from './child.ts';
import { run } from './load.ts';
import { childrenOf, forgetPeak, peakMemory, residentMemory } from './processor-time.ts';
import { prepare, signInLoad } from './scenarios.ts';
import { startSignet } from './signet.ts';

const help = `Usage: npm run bench:memory -- [options]

  --seconds N   of load (default 60)
  --workers N   with SIGNET_WORKERS
  --smoke       each once: whether it works
  --postgres    on a PostgreSQL of its own, whose memory is not counted
  --json        the result as JSON on stdout, alone
  --help        this text

Progress goes to stderr. Needs no network and leaves nothing behind.`;

/** At a time, all the while: as many people as a busy small service has. */
const flows = 12;
const signIns = 4;
/** Families of refresh tokens, and access tokens. */
const tokens = { accessTokens: 48, families: 48 };
/** After the load, until memory is read again. */
const restMs = 15_000;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    workers: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seconds = values.smoke ? 0.001 : Number(values.seconds);
const workers = values.workers === undefined ? undefined : Number(values.workers);

if (values.help) console.log(help);
else if (!(seconds > 0 && (workers === undefined || workers > 0))) {
  console.error(`--seconds and --workers take a number above 0.\n\n${help}`);
  process.exitCode = 2;
} else {
  await measure();
}

type Result = Record<'workers' | 'seconds' | 'flows' | 'sign_ins' | 'idle_mb' | 'peak_mb' | 'rested_mb', number>;

async function measure(): Promise<void> {
  process.stderr.write('starting Signet\n');
  const exchanges = values.smoke ? 60 : 2_000;
  const signet = await startSignet(await freePort(), undefined, {
    exchanges,
    workers,
    layout: values.postgres ? 'one_part' : undefined,
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => signet.stop().then(() => process.exit(130)));
  try {
    const processes = () => [signet.pid, ...childrenOf(signet.pid)];
    const sum = (of: (pid: number) => number) => processes().reduce((total, pid) => total + of(pid), 0);
    const idle_mb = sum(residentMemory);
    const scenarios = await prepare(signet, tokens);
    processes().forEach(forgetPeak); // what made the users and clients is not measured
    process.stderr.write(`${seconds} s with ${flows} flows and ${signIns} sign-ins with a password at a time\n`);
    const until = performance.now() + seconds * 1000;
    const made = { flows: 0, sign_ins: 0 };
    const flow = async () => {
      do {
        for (const scenario of ['code_exchange', 'refresh', 'userinfo', 'introspect'] as const) {
          await run(signet.address, { ...(await scenarios[scenario](flows)), connections: flows });
        }
        made.flows += flows;
      } while (performance.now() < until);
    };
    const signIn = async () => {
      do {
        await run(signet.address, { ...(await signInLoad(signet.signIn!)(signIns)), connections: signIns });
        made.sign_ins += signIns;
      } while (performance.now() < until);
    };
    await Promise.all([flow(), signIn()]);
    const peak_mb = sum(peakMemory);
    await sleep(values.smoke ? 0 : restMs);
    const result = { workers: workers ?? 1, seconds, ...made, idle_mb, peak_mb, rested_mb: sum(residentMemory) };
    console.log(values.json ? JSON.stringify(result) : text(result));
  } finally {
    await signet.stop();
  }
}

function text({ workers, flows, sign_ins, idle_mb, peak_mb, rested_mb }: Result): string {
  return `Resident memory of all processes, with SIGNET_WORKERS=${workers}:

  before the load            ${idle_mb} MB
  at most                    ${peak_mb} MB, in ${flows} flows and ${sign_ins} sign-ins
  15 s later                 ${rested_mb} MB`;
}
