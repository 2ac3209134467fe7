import assert from 'node:assert/strict';
import { message } from '../support/messages.ts';
import { until } from '../support/until.ts';
import { type App, type Case, fillIn, signIn, startApp } from './visit.ts';

/** What an app has a browser do. */

const last = (app: App) => app.received.at(-1)!.parameters;

export const appCases: readonly Case[] = [
  {
    name: 'consent: refused, given, and not asked for again',
    async run(begin) {
      const { t, signet, tab } = await begin();
      const app = await startApp(t);
      const client = await signet.registerClient({ redirect_uris: [`${app.origin}/cb`], consent: 'required' });
      const user = await signet.newUser();
      await tab.goto(signet.url + client.authorizePath());
      await fillIn(tab, user.email, user.password);
      await tab.follow('#signin-submit');
      await tab.see('h1', message('consent.title', { client: 'Test product', service: 'Signet' }));
      await tab.follow('#consent-deny');
      await tab.arriveAt(`${app.origin}/cb*`);
      assert.equal(last(app).get('error'), 'access_denied');

      await tab.goto(signet.url + client.authorizePath());
      await tab.follow('#consent-allow');
      await tab.arriveAt(`${app.origin}/cb*`);
      assert.equal((await client.redeem(last(app).get('code') ?? '')).status, 200);

      await tab.goto(signet.url + client.authorizePath());
      await tab.arriveAt(`${app.origin}/cb*`);
      assert.equal((await client.redeem(last(app).get('code') ?? '')).status, 200);
      assert.equal(app.received.length, 3);
    },
  },
  {
    name: 'sign-in in a popup reports to the app that opened it, through every page of the flow',
    async run(begin) {
      const { t, signet, tab } = await begin();
      const app = await startApp(t);
      const user = await signet.signedInUser();
      const { code } = await user.enableTotp();
      const { client_id } = await signet.registerClient({
        client_type: 'public',
        application_type: 'spa',
        redirect_uris: [`${app.origin}/popup`],
        consent: 'required',
      });
      const settings = { authority: signet.url, client_id, redirect_uri: `${app.origin}/popup`, scope: 'openid email' };
      await tab.goto(`${app.origin}/?${new URLSearchParams(settings)}`);
      const [opener = ''] = await tab.windows();
      await tab.click('#open');
      const popups = async () => (await tab.windows()).filter((handle) => handle !== opener);
      await until('a window opens', async () => (await popups()).length > 0);
      await tab.switchTo((await popups())[0]!);
      const step = async (path: string) => {
        await tab.arriveAt(`${signet.url}${path}`);
        assert.equal(await tab.evaluate('return opener !== null'), true, path);
      };
      await step('/signin?request=*');
      await fillIn(tab, user.email, 'not the password at all');
      await tab.follow('#signin-submit');
      await tab.see('[role=alert]', message('signin.wrong'));
      await step('/signin');
      await tab.fill('#password', user.password);
      await tab.follow('#signin-submit');
      await step('/signin/second-factor');
      await tab.fill('#code', code());
      await tab.follow('#second-factor-submit');
      await step('/consent?request=*');
      await tab.click('#consent-allow');
      await until('the window closes', async () => (await popups()).length === 0);
      await tab.switchTo(opener);
      await tab.see('#outcome', 'openid email');
    },
  },
  {
    name: '`form_post`: by its button without the script, by itself, and with the origin of the issuer',
    async run(begin) {
      const { t, signet, tab } = await begin();
      const app = await startApp(t);
      const client = await signet.registerClient({ redirect_uris: [`${app.origin}/cb`], consent: 'required' });
      const user = await signet.newUser();
      signet.proxy.missing = /^\/assets\/form-post/; // first: a browser keeps what it has once
      await tab.goto(signet.url + client.authorizePath({ response_mode: 'form_post' }));
      await fillIn(tab, user.email, user.password);
      await tab.follow('#signin-submit');
      await tab.follow('#consent-allow');
      await tab.see('h1', message('form_post.title'));
      await tab.follow('#form-post button');
      await tab.arriveAt(`${app.origin}/cb`);
      signet.proxy.missing = undefined;
      await tab.goto(signet.url + client.authorizePath({ response_mode: 'form_post' }));
      await tab.arriveAt(`${app.origin}/cb`);
      assert.equal(app.received.length, 2);
      for (const { method, headers, parameters } of app.received) {
        assert.deepEqual([method, headers.origin, headers.referer], ['POST', signet.url, `${signet.url}/`]);
        assert.equal((await client.redeem(parameters.get('code') ?? '')).status, 200);
      }
    },
  },
  {
    name: 'an app signs out: with a hint at once, without one after a question',
    async run(begin) {
      const { t, signet, tab } = await begin();
      const app = await startApp(t);
      const back = `${app.origin}/goodbye`;
      const redirect_uris = [`${app.origin}/cb`];
      const client = await signet.registerClient({ redirect_uris, post_logout_redirect_uris: [back] });
      const user = await signet.newUser();
      await signIn(tab, signet, user);
      await tab.goto(signet.url + client.authorizePath());
      await tab.arriveAt(`${app.origin}/cb*`);
      const { json } = await client.redeem(last(app).get('code') ?? '');
      const leave = (fields: Record<string, string>) =>
        tab.goto(`${signet.url}/oauth/logout?${new URLSearchParams({ post_logout_redirect_uri: back, ...fields })}`);
      await leave({ id_token_hint: String(json?.id_token) });
      await tab.arriveAt(back);
      await tab.goto(`${signet.url}/account`);
      await tab.see('#signin-submit');

      await signIn(tab, signet, user);
      await leave({ client_id: client.client_id });
      await tab.follow('#logout-stay');
      await tab.goto(`${signet.url}/account`);
      await tab.see('#user-menu');
      await leave({ client_id: client.client_id });
      await tab.follow('#logout-submit');
      await tab.arriveAt(back);
      await tab.goto(`${signet.url}/account`);
      await tab.see('#signin-submit');
    },
  },
  {
    name: 'a browser that blocks cookies is told so, on the page and on the way from an app',
    async run(begin) {
      const { t, signet, tab } = await begin({ blocksCookies: true });
      const app = await startApp(t);
      const client = await signet.registerClient({ redirect_uris: [`${app.origin}/cb`] });
      const user = await signet.newUser();
      await tab.goto(signet.url + client.authorizePath());
      await tab.see('h1', message('error.cookies'));
      await tab.goto(`${signet.url}/signin`);
      await fillIn(tab, user.email, user.password);
      await tab.follow('#signin-submit');
      await tab.see('[role=alert]', message('cookies.blocked'));
      assert.equal(await tab.value('#username'), user.email);
    },
  },
  {
    name: 'forms work where something on the way withholds `Sec-Fetch-Site`, since they name their origin',
    async run(begin) {
      const { signet, tab } = await begin();
      signet.proxy.withheld = /^sec-/;
      await signIn(tab, signet, await signet.newUser());
      await tab.arriveAt(`${signet.url}/account`);
      const posted = signet.proxy.requests.filter(({ method }) => method === 'POST');
      assert.deepEqual([...new Set(posted.map(({ headers }) => headers.origin))], [signet.url]);
    },
  },
];
