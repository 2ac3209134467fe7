import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';
import { freePort } from '../support/free-port.ts';
import { scratchFolder } from '../support/scratch.ts';
import { until } from '../support/until.ts';
import { type Capabilities, type Driver, openMarionette, openOverHttp } from './webdriver.ts';

export const browserNames = ['firefox', 'webkit', 'chromium'] as const;
export type BrowserName = (typeof browserNames)[number];

export type LaunchOptions = { blocksCookies?: boolean };

type Launched = { driver: Driver; stop(): Promise<void> };

type Kind = {
  /** What must be on the PATH, and the package of Debian that has it. */
  needs: readonly (readonly [program: string, debian: string])[];
  launch(options: LaunchOptions): Promise<Launched>;
};

/** The cases say themselves what they wait for, so no command waits for a page. */
const common: Capabilities = { pageLoadStrategy: 'none', acceptInsecureCerts: true };

export const browsers: Readonly<Record<BrowserName, Kind>> = {
  firefox: { needs: [['firefox-esr', 'firefox-esr']], launch: launchFirefox },
  webkit: {
    needs: [
      ['WebKitWebDriver', 'webkit2gtk-driver'],
      ['Xvfb', 'xvfb'],
    ],
    launch: launchWebKit,
  },
  // For comparison: what fails here as well is no matter of the browser.
  chromium: { needs: [['chromedriver', 'chromium-driver']], launch: launchChromium },
};

/** Why a browser cannot be run here. @returns undefined if it can. */
export function missing(name: BrowserName): string | undefined {
  const absent = browsers[name].needs.find(([program]) => !isInstalled(program));
  return absent && `${absent[0]} is not installed: apt-get install ${absent[1]}`;
}

const isInstalled = (program: string): boolean =>
  (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

async function launchFirefox({ blocksCookies = false }: LaunchOptions): Promise<Launched> {
  const profile = await scratchFolder('firefox');
  const preferences = {
    'marionette.port': 0, // any; it tells by a file
    // Passkeys are those of the driver, and no key is waited for that could be plugged in.
    'security.webauth.webauthn_enable_softtoken': true,
    'security.webauth.webauthn_enable_usbtoken': false,
    ...(blocksCookies && { 'network.cookie.cookieBehavior': 2 }),
  };
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${value});\n`);
  writeFileSync(join(profile, 'user.js'), lines.join(''));
  const browser = start('firefox-esr', ['--marionette', '--headless', '--no-remote', '--profile', profile], {
    HOME: profile,
  });
  const told = join(profile, 'MarionetteActivePort');
  const port = () => (existsSync(told) ? Number(readFileSync(told, 'utf8')) : 0);
  await until('Firefox listens', () => port() > 0 || browser.hasEnded(), browser.said);
  const driver = await openMarionette(port(), common);
  return {
    driver,
    async stop() {
      await driver.close();
      await browser.end();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

async function launchWebKit({ blocksCookies = false }: LaunchOptions): Promise<Launched> {
  const home = await scratchFolder('webkit');
  const screen = await openScreen();
  const port = await freePort();
  const server = start('WebKitWebDriver', [`--port=${port}`, '--host=127.0.0.1'], {
    HOME: home,
    XDG_RUNTIME_DIR: home,
    DBUS_SESSION_BUS_ADDRESS: 'disabled:', // on a desktop, its document portal would be mounted in the folder, which then cannot be removed
    DISPLAY: screen.display,
    LIBGL_ALWAYS_SOFTWARE: '1',
    WEBKIT_DISABLE_COMPOSITING_MODE: '1', // there is no graphics card
  });
  const args = ['--automation', ...(blocksCookies ? ['--cookies-policy=never'] : [])];
  return overHttp(server, port, { ...common, 'webkitgtk:browserOptions': { args } }, async () => {
    await screen.end();
    rmSync(home, { recursive: true, force: true });
  });
}

async function launchChromium({ blocksCookies = false }: LaunchOptions): Promise<Launched> {
  const home = await scratchFolder('chromium');
  const port = await freePort();
  const server = start('chromedriver', [`--port=${port}`], { HOME: home });
  const args = [
    ...['--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
    ...['--disable-component-update', '--disable-sync', `--user-data-dir=${join(home, 'profile')}`],
  ];
  const prefs = blocksCookies ? { 'profile.default_content_setting_values.cookies': 2 } : {};
  return overHttp(server, port, { ...common, 'goog:chromeOptions': { args, prefs } }, async () =>
    rmSync(home, { recursive: true, force: true }),
  );
}

async function overHttp(
  server: Program,
  port: number,
  capabilities: Capabilities,
  clean: () => Promise<void>,
): Promise<Launched> {
  const address = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${address}/status`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until('the driver listens', async () => server.hasEnded() || (await isReady()), server.said);
  const driver = await openOverHttp(address, capabilities);
  return {
    driver,
    async stop() {
      await driver.close().catch(() => undefined); // the browser may have gone before
      await server.end();
      await clean();
    },
  };
}

/** An X server without a screen. */
async function openScreen() {
  const server = start('Xvfb', ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], {}, [
    'ignore',
    'ignore',
    'pipe',
    'pipe',
  ]);
  let number = '';
  (server.child.stdio[3] as Readable).on('data', (text) => {
    number += text;
  });
  await until('Xvfb has a display', () => number.endsWith('\n') || server.hasEnded(), server.said);
  return { display: `:${number.trim()}`, end: server.end };
}

type Program = { child: ChildProcess; said(): string; hasEnded(): boolean; end(): Promise<void> };

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) kill(child);
});

/** With all that it starts: it is a group of processes. */
const kill = ({ pid }: ChildProcess) => {
  try {
    process.kill(-pid!, 'SIGKILL');
  } catch {} // it has ended
};

function start(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  stdio: ('ignore' | 'pipe')[] = ['ignore', 'ignore', 'pipe'],
): Program {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio, detached: true });
  running.add(child);
  const ended = once(child, 'close').finally(() => running.delete(child));
  let said = '';
  child.stderr!.on('data', (text) => {
    said = (said + text).slice(-5000);
  });
  return {
    child,
    said: () => said,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    async end() {
      kill(child);
      await ended;
    },
  };
}
