import { redirectUriProblem } from '../redirect-uri.ts';
import { appauth } from './appauth.ts';
import { authjs } from './authjs.ts';
import { authlib } from './authlib.ts';
import { betterAuth } from './better-auth.ts';
import { djangoAllauth } from './django-allauth.ts';
import { expressOpenidConnect } from './express-openid-connect.ts';
import { fastifyOauth2 } from './fastify-oauth2.ts';
import { goOidc } from './go-oidc.ts';
import { jose } from './jose.ts';
import { jsonwebtoken } from './jsonwebtoken.ts';
import { kubelogin } from './kubelogin.ts';
import type { Kind, Library, SnippetValues, Symptom } from './library.ts';
import { mcpPythonSdk, mcpRemote, mcpTypescriptSdk } from './mcp-clients.ts';
import { modAuthOpenidc } from './mod-auth-openidc.ts';
import { mozillaDjangoOidc } from './mozilla-django-oidc.ts';
import { nextAuth4 } from './next-auth-4.ts';
import { oauth2Proxy } from './oauth2-proxy.ts';
import { oauth4webapi } from './oauth4webapi.ts';
import { oidcClientTs } from './oidc-client-ts.ts';
import { openidClient } from './openid-client.ts';
import { openidClient5 } from './openid-client-5.ts';
import { other } from './other.ts';
import { passport } from './passport.ts';
import { pythonSocialAuth } from './python-social-auth.ts';
import { reactOidcContext } from './react-oidc-context.ts';
import { rustOpenidconnect } from './rust-openidconnect.ts';
import { springResourceServer } from './spring-resource-server.ts';
import { springSecurity6, springSecurity7 } from './spring-security.ts';
import { streamlit } from './streamlit.ts';

/** What relying parties are built with, in the order in which it is offered. */
export const libraries: readonly Library[] = [
  openidClient,
  openidClient5,
  oauth4webapi,
  authjs,
  nextAuth4,
  expressOpenidConnect,
  passport,
  betterAuth,
  fastifyOauth2,
  oidcClientTs,
  reactOidcContext,
  authlib,
  mozillaDjangoOidc,
  djangoAllauth,
  pythonSocialAuth,
  streamlit,
  springSecurity7,
  springSecurity6,
  goOidc,
  rustOpenidconnect,
  modAuthOpenidc,
  oauth2Proxy,
  kubelogin,
  appauth,
  mcpTypescriptSdk,
  mcpPythonSdk,
  mcpRemote,
  jose,
  jsonwebtoken,
  springResourceServer,
  other,
];

const byId: ReadonlyMap<string, Library> = new Map(libraries.map((library) => [library.id, library]));

export const libraryIds: readonly string[] = [...byId.keys()];

/** @param id null for a client that names none. A row of a later version may name one that is unknown here. */
export const findLibrary = (id: string | null | undefined): Library | undefined =>
  id === null || id === undefined ? undefined : byId.get(id);

export const librariesFor = (kind: Kind): readonly Library[] =>
  libraries.filter((library) => library.kinds.includes(kind));

export type SnippetFile = { readonly file: string; readonly text: string };

/** The files of a library with the values of a client, without its secret. */
export function snippetOf(id: string, values: SnippetValues): readonly SnippetFile[] {
  const snippets = findLibrary(id)?.snippets ?? [];
  return snippets.flatMap(({ file, text: textFor }) => {
    const text = textFor(values);
    return text === false ? [] : [{ file, text }];
  });
}

/** openid-client 6 redeems with the redirect URI less its query, so one without it is more useful. */
export const mainRedirectUri = (redirect_uris: readonly string[]): string =>
  redirect_uris.find((uri) => !uri.includes('?')) ?? redirect_uris[0] ?? '';

/** Where users return to after a sign-out: the root of the redirect URI's site, as snippets have it, the URI itself, or nowhere. */
export const signOutTargets = ['root', 'callback', 'listed'] as const;
export type SignOutTarget = (typeof signOutTargets)[number];

/** What is registered for it; nothing for a redirect URI that cannot be registered either. */
export function signOutUris(target: SignOutTarget | undefined, redirect_uris: readonly string[]): string[] {
  const callback = mainRedirectUri(redirect_uris);
  if (target !== 'root' && target !== 'callback') return [];
  return redirectUriProblem(callback) === undefined ? [target === 'root' ? homeOf(callback) : callback] : [];
}

/** The root of a site, or a private-use scheme as it stands: what is probably wanted after sign-out. */
export const homeOf = (redirect_uri: string): string =>
  /^https?:/i.test(redirect_uri) ? (URL.parse('/', redirect_uri)?.href ?? redirect_uri) : redirect_uri;

/** What forms and commands register for it. The defaults of the API are those of the specification. */
export const proposedFor = ({ algorithms, claims_in_id_token }: Library) => ({
  id_token_signed_response_alg: algorithms[0],
  claims_in_id_token: claims_in_id_token ?? true,
});

/** What to do about a failure that we have seen, in the library's own terms. */
export const symptomOf = (library: Library | undefined, without: Symptom['without']): Symptom | undefined =>
  library?.symptoms.find((symptom) => symptom.without === without);
