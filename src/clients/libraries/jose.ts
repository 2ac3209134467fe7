import { type Library, quoted, type SnippetValues } from './library.ts';

const verify = (client: SnippetValues) => `import { createRemoteJWKSet, jwtVerify } from 'jose';

const issuer = ${quoted(client.issuer)};
const keys = createRemoteJWKSet(new URL(\`\${issuer}/.well-known/jwks.json\`));

// Of the access token in "Authorization: Bearer ...". Throws if it is not one for this API.
// An API that is registered has its own identifier as audience, and needs no line about other APIs.
export async function checkToken(token) {
  const { payload } = await jwtVerify(token, keys, {
    issuer,
    audience: ${quoted(client.client_id)}, // the client whose tokens this API accepts
    typ: 'at+jwt',
    algorithms: [${quoted(client.algorithm)}],
  });
  if (Array.isArray(payload.aud)) throw new Error('This token is for another API.');
  return payload; // sub, client_id, scope
}
`;

export const jose: Library = {
  id: 'jose',
  name: 'jose',
  ecosystem: 'Node.js',
  kinds: ['service'],
  homepage: 'https://github.com/panva/jose',
  versions: 'jose 6.2.17',
  algorithms: ['EdDSA', 'RS256'],
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: null,
  callback: null,
  symptoms: [
    { without: 'token_type', seen: 'an id token is accepted as an access token', setting: "typ: 'at+jwt'" },
    {
      without: 'algorithm',
      seen: 'JOSEAlgNotAllowed: "alg" (Algorithm) Header Parameter value not allowed',
      setting: "algorithms: ['EdDSA']",
    },
  ],
  snippets: [{ file: 'verify.mjs', text: verify }],
};
