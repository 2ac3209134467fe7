/** What the example shows. */
import { hash } from 'node:crypto';
import * as oidc from 'openid-client';
import type { SignedIn } from './relying-party.ts';

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: unknown) => String(text).replace(/[&<>"]/g, (character) => entities[character]!);

const page = (title: string, main: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="/style.css">
<main>
<h1>${escaped(title)}</h1>
${main}
</main>
`;

export const homePage = (issuer: string, notice: string | undefined) =>
  page(
    'Example relying party',
    `${notice ? `<p class="notice" role="status">${escaped(notice)}</p>` : ''}
<p>This small product has no accounts of its own. It asks Signet at <code>${escaped(issuer)}</code> who you are.</p>
<p class="actions"><a class="button" id="sign-in" href="/sign-in">Sign in with Signet</a>
<a id="choose" href="/sign-in?prompt=select_account">Choose an account</a></p>
<p class="soft">No account yet? The first one is made with the link that Signet printed when it started.</p>`,
  );

export function signedInPage({ tokens, claims, userinfo, previous }: SignedIn): string {
  const rows = { ...fingerprints(tokens), ...claims };
  const before: Record<string, unknown> = previous ? { ...fingerprints(previous.tokens), ...previous.claims } : rows;
  const changed = Object.keys({ ...before, ...rows }).filter((name) => text(before, name) !== text(rows, name));
  return page(
    `Hello, ${userinfo.name ?? userinfo.email ?? claims.sub}`,
    `<p>Signet knows you as <strong id="subject">${escaped(claims.sub)}</strong>.</p>
<form class="actions" method="post">
<button id="refresh" formaction="/refresh">Refresh the tokens</button>
<button id="sign-out" formaction="/sign-out" class="quiet">Sign out</button>
<button id="leave-app" formaction="/leave-app" class="quiet">Leave this app only</button>
</form>
${previous ? changesTable(changed, before, rows) : ''}
${table('id-token', 'ID token, verified', claims)}
${table('userinfo', 'Userinfo', userinfo)}
${table('tokens', 'Tokens, as fingerprints', fingerprints(tokens))}`,
  );
}

/** A sign-in may end without a person: the one at Signet pressed Cancel, or an answer did not pass its checks. */
export function failurePage(error: unknown): string {
  const isAnswer = error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError;
  const [code, why] = isAnswer ? [error.error, error.error_description] : ['', error instanceof Error && error.message];
  return page(
    'You are not signed in',
    `<p class="notice" role="alert"><code id="error">${escaped(code)}</code> ${escaped(why ?? '')}</p>
<p class="actions"><a class="button" href="/">Start again</a></p>`,
  );
}

/** Tokens are secrets, and an access token is for Signet to read: here it is enough to tell one from the next. */
const fingerprints = ({ access_token, refresh_token }: oidc.TokenEndpointResponse) => ({
  'access token': hash('sha256', access_token).slice(0, 16),
  'refresh token': refresh_token && hash('sha256', refresh_token).slice(0, 16),
});

const table = (id: string, title: string, rows: Record<string, unknown>) => `<section>
<h2 id="${id}">${title}</h2>
<table aria-labelledby="${id}">${Object.keys(rows)
  .map((name) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(text(rows, name))}</td></tr>`)
  .join('')}</table>
</section>`;

const changesTable = (names: string[], before: Record<string, unknown>, after: Record<string, unknown>) => `<section>
<h2 id="changes">What the refresh changed</h2>
<table aria-labelledby="changes"><tr><th scope="col">What</th><th scope="col">Before</th><th scope="col">Now</th></tr>${names
  .map((name) => [name, text(before, name), text(after, name)].map(escaped))
  .map(([name, was, is]) => `<tr><th scope="row">${name}</th><td>${was}</td><td>${is}</td></tr>`)
  .join('')}</table>
</section>`;

/** A claim as people read it. */
function text(rows: Record<string, unknown>, name: string): string {
  const value = rows[name];
  if (value === undefined) return 'none';
  if (['iat', 'exp', 'auth_time'].includes(name))
    return `${new Date(Number(value) * 1000).toISOString().slice(11, 19)} UTC`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
