import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ProxiedSignet } from '../browser/proxied-signet.ts';
import { afterTest } from '../support/after-test.ts';
import type { Options, Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';
import type { BrowserName, LaunchOptions } from './browsers.ts';
import type { Tab } from './tab.ts';

/** A Signet and a browser that has never been there. */
export type Visit = { t: TestContext; signet: ProxiedSignet; tab: Tab };

export type Case = {
  name: string;
  run(begin: (options?: Options & LaunchOptions) => Promise<Visit>): Promise<void>;
  /** Browsers that it cannot be run in, and why. */
  notIn?: Partial<Readonly<Record<BrowserName, string>>>;
};

export const password = 'ordinary words in a row';

export async function signIn(tab: Tab, { url }: Signet, { email, password }: TestUser, next = '/account') {
  await tab.goto(`${url}/signin?next=${encodeURIComponent(next)}`);
  await fillIn(tab, email, password);
  await tab.follow('#signin-submit');
}

export async function fillIn(tab: Tab, username: string, password: string) {
  await tab.fill('#username', username);
  await tab.fill('#password', password);
}

export async function signOut(tab: Tab) {
  await tab.click('#user-menu');
  await tab.follow('#signout-submit');
  await tab.see('#signed-out');
}

/** How many forms browsers have sent; a script that checks what is typed posts, too. */
export const formsSent = ({ proxy }: ProxiedSignet): number =>
  proxy.requests.filter(({ method, headers }) => method === 'POST' && headers['sec-fetch-mode'] === 'navigate').length;

/**
 * Two clicks on a button, the second before the answer to the first. WebKit's driver does nothing while a page is awaited, so the page
 * itself makes the second click: where no script holds it, after the first form is on its way, or that would not be sent at all.
 * @returns how many forms were sent.
 */
export async function clickTwice(tab: Tab, signet: ProxiedSignet, selector: string): Promise<number> {
  const { proxy } = signet;
  const isHeld = proxy.missing === undefined;
  const before = formsSent(signet);
  const { promise, resolve: release } = Promise.withResolvers<void>();
  proxy.held = promise;
  await tab.see(selector);
  await tab.evaluate(
    `const button = document.querySelector(arguments[0]);
     button.addEventListener('click', () => setTimeout(() => button.click(), arguments[1]), { once: true });`,
    selector,
    isHeld ? 0 : 300,
  );
  const clicked = tab.click(selector);
  await until('the forms are sent', () => formsSent(signet) > (isHeld ? before : before + 1));
  release();
  proxy.held = undefined;
  await clicked;
  return formsSent(signet) - before;
}

const library = readFileSync(
  fileURLToPath(new URL('../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url)),
);

export type App = {
  origin: string;
  /** To its redirect URI. */
  received: { method: string; headers: IncomingHttpHeaders; parameters: URLSearchParams }[];
};

/**
 * An app of another site. `/` opens the sign-in in a popup at a click on `#open`, by the settings in its query, and tells in `#outcome`
 * which scope was given; `/popup` is the redirect URI for that, `/cb` the other one.
 */
export async function startApp(t: TestContext): Promise<App> {
  const received: App['received'] = [];
  const page = (content: string) => `<!doctype html><html lang="en"><title>App</title><body>${content}`;
  const withLibrary = (script: string) => page(`<script src="/library.js"></script><script>${script}</script>`);
  const popup = withLibrary('new oidc.UserManager({}).signinPopupCallback()');
  const opener = `<button id="open">Sign in</button><p id="outcome"></p>${withLibrary(`
    const manager = new oidc.UserManager(Object.fromEntries(new URLSearchParams(location.search)));
    document.querySelector('#open').addEventListener('click', async () => {
      const outcome = await manager.signinPopup().then((user) => user.scope, String);
      document.querySelector('#outcome').textContent = outcome;
    })`)}`;
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://app.invalid');
    const { method = 'GET', headers } = request;
    if (pathname === '/favicon.ico') return response.writeHead(204).end();
    if (pathname === '/cb') {
      const parameters = method === 'POST' ? new URLSearchParams(await text(request)) : searchParams;
      received.push({ method, headers, parameters });
    }
    const isLibrary = pathname === '/library.js';
    response.setHeader('content-type', isLibrary ? 'text/javascript' : 'text/html; charset=utf-8');
    const content = { '/library.js': library, '/': page(opener), '/popup': popup }[pathname];
    return response.end(content ?? page(`<h1 id="app">${pathname}</h1>`));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterTest(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}
