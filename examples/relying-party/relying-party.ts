/**
 * A product that signs people in with Signet: authorization code flow with PKCE, state and nonce; tokens refreshed;
 * signed out, here and at Signet, with the refresh token revoked. Whatever must be checked, openid-client checks.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import * as oidc from 'openid-client';
import { failurePage, homePage, signedInPage } from './pages.ts';

/** offline_access asks for a refresh token. */
export const scope = 'openid profile email offline_access';

type Tokens = oidc.TokenEndpointResponse & oidc.TokenEndpointResponseHelpers;
export type SignedIn = {
  tokens: Tokens;
  claims: oidc.IDToken;
  userinfo: oidc.UserInfoResponse;
  /** From before the last refresh. */
  previous?: Pick<SignedIn, 'tokens' | 'claims'>;
};
type Session = {
  /** What a sign-in under way must find again when the browser comes back. */
  departure?: { state: string; nonce: string; code_verifier: string };
  signedIn?: SignedIn;
  notice?: string;
  refreshing?: Promise<void>;
};
type Visit = { url: URL; session: Session; renewSession(): Session };
type Answer = { page: string; status?: number } | { redirect: string };

const style = readFileSync(new URL('style.css', import.meta.url));
const maxSessions = 1000;

export function relyingParty(config: oidc.Configuration, origin: string): Server {
  /** In memory, oldest first: this is an example. A product keeps them where a restart does not lose them. */
  const sessions = new Map<string, Session>();

  async function home({ session }: Visit): Promise<Answer> {
    const { signedIn, notice } = session;
    delete session.notice;
    return { page: signedIn ? signedInPage(signedIn) : homePage(config.serverMetadata().issuer, notice) };
  }

  /** Sends the person to Signet. Three random values stay here, each against another attack on the way back. */
  async function leave({ url, session }: Visit): Promise<Answer> {
    const state = oidc.randomState(); // the answer is for this browser
    const nonce = oidc.randomNonce(); // the id token is for this sign-in
    const code_verifier = oidc.randomPKCECodeVerifier(); // the code is worth nothing to whoever steals it
    session.departure = { state, nonce, code_verifier };
    const code_challenge = await oidc.calculatePKCECodeChallenge(code_verifier);
    const request = { redirect_uri: `${origin}/callback`, scope, state, nonce, code_challenge };
    const prompt = url.searchParams.get('prompt');
    const target = { ...request, code_challenge_method: 'S256', ...(prompt && { prompt }) };
    return { redirect: oidc.buildAuthorizationUrl(config, target).href };
  }

  /** The person is back, with a code or an error. */
  async function arrive({ url, session, renewSession }: Visit): Promise<Answer> {
    const { departure } = session;
    if (!departure) return { redirect: '/' }; // a reload, or a link that somebody sent
    delete session.departure; // good for one answer
    const tokens = await oidc.authorizationCodeGrant(config, url, {
      expectedState: departure.state,
      expectedNonce: departure.nonce,
      pkceCodeVerifier: departure.code_verifier,
    });
    const claims = tokens.claims()!; // there, since a nonce was expected
    const userinfo = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
    renewSession().signedIn = { tokens, claims, userinfo }; // the old session id may have been planted by somebody
    return { redirect: '/' };
  }

  /**
   * Signet takes each refresh token once, and ends the whole sign-in when one comes twice, since one of the two must be
   * a thief. So a second click waits for the answer to the first.
   */
  async function refresh({ session }: Visit): Promise<Answer> {
    session.refreshing ??= renewTokens(session).finally(() => delete session.refreshing);
    await session.refreshing;
    return { redirect: '/' };
  }

  async function renewTokens(session: Session): Promise<void> {
    const previous = session.signedIn;
    if (!previous?.tokens.refresh_token) return;
    try {
      const tokens = await oidc.refreshTokenGrant(config, previous.tokens.refresh_token);
      const claims = tokens.claims() ?? previous.claims;
      if (claims.sub !== previous.claims.sub) throw new Error('The new ID token belongs to a different user.'); // OIDC Core §12.2
      const userinfo = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
      session.signedIn = { tokens, claims, userinfo, previous: { tokens: previous.tokens, claims: previous.claims } };
    } catch (error) {
      if (!(error instanceof oidc.ResponseBodyError) || error.error !== 'invalid_grant') throw error;
      delete session.signedIn; // revoked there, so it is over here
      session.notice = 'Signet has ended this sign-in. Please sign in again.';
    }
  }

  /**
   * Out of this product and of Signet, so that the next person at this browser is not signed in by one click. The ID token says
   * whose session it is; without it Signet asks first.
   */
  async function signOut(visit: Visit): Promise<Answer> {
    const id_token_hint = visit.session.signedIn?.tokens.id_token;
    await forget(visit, 'You are signed out, of Signet too.');
    if (!id_token_hint) return { redirect: '/' };
    const back = { id_token_hint, post_logout_redirect_uri: `${origin}/` };
    return { redirect: oidc.buildEndSessionUrl(config, back).href };
  }

  /** The session at Signet goes on, and with it the person's other products. */
  async function leaveApp(visit: Visit): Promise<Answer> {
    await forget(visit, 'You are signed out here. Your session at Signet goes on.');
    return { redirect: '/' };
  }

  async function forget({ session, renewSession }: Visit, notice: string): Promise<void> {
    const refresh_token = session.signedIn?.tokens.refresh_token;
    renewSession().notice = notice;
    if (refresh_token) await oidc.tokenRevocation(config, refresh_token);
  }

  const routes: Record<string, (visit: Visit) => Promise<Answer>> = {
    'GET /': home,
    'GET /sign-in': leave,
    'GET /callback': arrive,
    'POST /refresh': refresh,
    'POST /sign-out': signOut,
    'POST /leave-app': leaveApp,
  };

  return createServer(async (request, response) => {
    const url = URL.parse(origin + request.url); // never from the Host header, which is whatever the sender likes
    if (url?.pathname === '/style.css') return response.setHeader('content-type', 'text/css').end(style);
    const route = routes[`${request.method} ${url?.pathname}`];
    if (!url || !route) return response.writeHead(404).end();

    const id = /(?:^|; )example_session=([\w-]{43})/.exec(request.headers.cookie ?? '')?.[1] ?? '';
    const renewSession = () => {
      sessions.delete(id);
      if (sessions.size >= maxSessions) sessions.delete(sessions.keys().next().value!);
      const session: Session = {};
      const newId = randomBytes(32).toString('base64url');
      sessions.set(newId, session);
      // Lax: a form on another site is sent without it; the way back from Signet, a plain GET, is sent with it.
      response.setHeader('set-cookie', `example_session=${newId}; HttpOnly; SameSite=Lax; Path=/`);
      return session;
    };
    const visit = { url, session: sessions.get(id) ?? renewSession(), renewSession };
    const answer = await route(visit).catch((error: unknown): Answer => ({ page: failurePage(error), status: 400 }));
    response.setHeader('cache-control', 'no-store');
    if ('redirect' in answer) return response.writeHead(303, { location: answer.redirect }).end();
    // A browser checks where a form leads to in the end, too: after a sign-out, Signet.
    const policy = `default-src 'none'; style-src 'self'; form-action 'self' ${new URL(config.serverMetadata().issuer).origin}`;
    response.setHeader('content-security-policy', policy);
    response.writeHead(answer.status ?? 200, { 'content-type': 'text/html; charset=utf-8' }).end(answer.page);
  });
}
