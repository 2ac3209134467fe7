import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gapsOf, proposedRetryWindow, symptomsFor } from './advice.ts';
import { findLibrary, libraries, librariesFor, proposedFor, snippetOf } from './catalogue.ts';
import { kinds, type SnippetValues } from './library.ts';
import { other } from './other.ts';

const values: SnippetValues = {
  issuer: 'https://id.example.com',
  client_id: 'cl_AAAAAAAAAAAAAAAAAAAAAA',
  client_type: 'confidential',
  redirect_uri: "https://shop.test/it's/$HOME(1)",
  post_logout_redirect_uri: 'https://shop.test/bye',
  scope: 'openid email',
  algorithm: 'RS256',
};

test('each library says what it needs, and how it is seen that something is missing', () => {
  assert.equal(new Set(libraries.map(({ id }) => id)).size, libraries.length);
  for (const { id, kinds: of, name, homepage, versions, pkce, sign_out, symptoms } of libraries) {
    assert.match(id, /^[a-z0-9-]{1,40}$/);
    assert.match(homepage, /^https:\/\//, id);
    assert.ok(name.length > 0 && (versions.length > 0 || id === 'other'), id);
    assert.equal(new Set(of).size, of.length, id);
    const named = symptoms.map(({ without }) => without);
    assert.equal(new Set(named).size, named.length, `${id}: one symptom for each lack`);
    if (pkce !== null) assert.ok(named.includes('pkce'), `${id}: what is seen without PKCE`);
    if (sign_out !== null && id !== 'other') assert.ok(named.includes('sign_out'), `${id}: what is seen at sign-out`);
  }
});

test('what does not verify EdDSA, reads the id token alone or refreshes in parallel says what is seen', () => {
  for (const { id, algorithms, claims_in_id_token, refreshes_in_parallel, symptoms } of libraries) {
    const named = symptoms.map(({ without }) => without);
    if (!algorithms.includes('EdDSA') && id !== 'appauth') assert.ok(named.includes('algorithm'), id);
    if (claims_in_id_token) assert.ok(named.includes('claims'), id);
    assert.equal(named.includes('retry_window'), refreshes_in_parallel, id);
  }
});

test('what fetches tokens for another verifier is judged by that, and unknown software by what most of it does', () => {
  assert.deepEqual(
    libraries.filter(({ verifier }) => verifier !== undefined).map(({ id, algorithms }) => [id, algorithms]),
    [
      ['kubelogin', ['RS256']], // kube-apiserver: RS*, ES* and PS* alone
      ...['mcp-typescript-sdk', 'mcp-python-sdk', 'mcp-remote'].map((id) => [id, ['RS256', 'EdDSA']]), // FastMCP: RS256 unless it is told
    ],
  );
  const proposed = { id_token_signed_response_alg: 'RS256', claims_in_id_token: true };
  assert.deepEqual([proposedFor(other), proposedFor(findLibrary('kubelogin')!)], [proposed, proposed]);
  assert.deepEqual(proposedFor(findLibrary('openid-client')!), {
    id_token_signed_response_alg: 'EdDSA',
    claims_in_id_token: false,
  });
});

test('every kind of app has a library, and the one that is not listed', () => {
  for (const kind of kinds) assert.ok(librariesFor(kind).length > 1 && librariesFor(kind).at(-1)?.id === 'other', kind);
});

test('a snippet has the values of the client, in quotes that they cannot leave, and never a secret', () => {
  for (const { id, snippets, signs } of libraries) {
    for (const client_type of ['confidential', 'public'] as const) {
      const files = snippetOf(id, { ...values, client_type });
      const all = files.map(({ text }) => text).join('\n');
      assert.ok(files.length > 0 && files.length <= snippets.length, id);
      assert.ok(all.includes(values.client_id) && all.includes(values.issuer), `${id}: ${all}`);
      assert.doesNotMatch(all, /undefined|\[object|\{\{/, id);
      assert.ok(
        all.split('\n').every((line) => line.length < 200),
        `${id}: a line that scrolls`,
      );
      if (client_type === 'public') assert.doesNotMatch(all, /OIDC_CLIENT_SECRET/, id);
    }
    const byKey = snippetOf(id, { ...values, client_type: 'confidential', signs: true })
      .map(({ text }) => text)
      .join('\n');
    if (signs) assert.match(byKey, /OIDC_PRIVATE_KEY(?![\s\S]*OIDC_CLIENT_SECRET)/, id);
    else assert.doesNotMatch(byKey, /OIDC_PRIVATE_KEY/, id);
  }
  assert.deepEqual(snippetOf('nothing', values), []);
  assert.equal(findLibrary('__proto__'), undefined);
});

const client = {
  library: 'spring-security-7',
  client_type: 'confidential',
  redirect_uris: ['https://shop.test/cb'],
  post_logout_redirect_uris: [],
  allowed_scopes: ['openid', 'offline_access'],
  id_token_signed_response_alg: 'EdDSA',
  claims_in_id_token: false,
  token_endpoint_auth_method: 'client_secret_post',
  refresh_retry_window: 0,
} as unknown as Parameters<typeof gapsOf>[1];

test('what a library needs and a client lacks is named, and nothing else', () => {
  const spring = findLibrary('spring-security-7')!;
  assert.deepEqual(gapsOf(spring, client), ['algorithm', 'retry_window', 'post_logout', 'authentication']);
  assert.deepEqual(
    gapsOf(spring, {
      ...client,
      id_token_signed_response_alg: 'RS256',
      refresh_retry_window: 10,
      post_logout_redirect_uris: ['https://shop.test/'],
      token_endpoint_auth_method: null,
    }),
    [],
  );
  const withKey = { ...client, token_endpoint_auth_method: 'private_key_jwt' } as const;
  assert.deepEqual(gapsOf(findLibrary('openid-client')!, withKey), ['post_logout']);
  assert.deepEqual(gapsOf(findLibrary('authlib')!, withKey), ['post_logout', 'key']);
  assert.deepEqual(gapsOf(findLibrary('jose')!, withKey).includes('key'), false);
  assert.deepEqual(gapsOf(findLibrary('kubelogin')!, client), ['algorithm', 'claims']);
  assert.deepEqual(gapsOf(other, client), ['post_logout'], 'what is proposed for it is no need of it');
  const withQuery = { ...client, redirect_uris: ['https://shop.test/cb?a=b'] };
  assert.deepEqual(gapsOf(findLibrary('openid-client')!, withQuery), ['post_logout', 'query']);
});

test('a retry window is proposed for what refreshes in parallel, if it refreshes at all', () => {
  assert.equal(proposedRetryWindow(client), 10);
  assert.equal(proposedRetryWindow({ ...client, allowed_scopes: ['openid'] }), undefined);
  assert.equal(proposedRetryWindow({ ...client, library: 'openid-client' }), undefined);
  assert.equal(proposedRetryWindow({ ...client, library: null }), undefined);
});

test('a client reads of no symptom that its registration rules out', () => {
  const seenBy = (id: string, fields: object = {}) =>
    symptomsFor(findLibrary(id)!, { ...client, ...fields }).map(({ without }) => without);
  const express = ['response_type', 'algorithm', 'claims', 'sign_out', 'state'];
  assert.deepEqual(seenBy('express-openid-connect'), express);
  assert.deepEqual(
    seenBy('express-openid-connect', { id_token_signed_response_alg: 'RS256', claims_in_id_token: true }),
    ['response_type', 'sign_out', 'state'],
  );
  assert.ok(seenBy('spring-security-7').includes('retry_window'));
  for (const fields of [{ refresh_retry_window: 10 }, { allowed_scopes: ['openid'] }]) {
    assert.ok(!seenBy('spring-security-7', fields).includes('retry_window'));
  }
});
