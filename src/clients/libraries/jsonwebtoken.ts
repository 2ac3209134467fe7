import { type Library, quoted, type SnippetValues } from './library.ts';

const verify = (client: SnippetValues) => `import { promisify } from 'node:util';
import jwt from 'jsonwebtoken';
import jwksClient from 'jwks-rsa';

const issuer = ${quoted(client.issuer)};
const keys = jwksClient({ jwksUri: \`\${issuer}/.well-known/jwks.json\`, cache: true, rateLimit: true });
const keyOf = ({ kid }, done) => void keys.getSigningKey(kid).then((key) => done(null, key.getPublicKey()), done);

// Of the access token in "Authorization: Bearer ...". Throws if it is not one for this API.
// An API that is registered has its own identifier as audience, and needs no line about other APIs.
export async function checkToken(token) {
  const { header, payload } = await promisify(jwt.verify)(token, keyOf, {
    issuer,
    audience: ${quoted(client.client_id)}, // the client whose tokens this API accepts
    algorithms: ['RS256'],
    complete: true,
  });
  if (header.typ !== 'at+jwt') throw new Error('This is not an access token.');
  if (Array.isArray(payload.aud)) throw new Error('This token is for another API.');
  return payload; // sub, client_id, scope
}
`;

export const jsonwebtoken: Library = {
  id: 'jsonwebtoken',
  name: 'jsonwebtoken with jwks-rsa',
  ecosystem: 'Node.js',
  kinds: ['service'],
  homepage: 'https://github.com/auth0/node-jsonwebtoken',
  versions: 'jsonwebtoken 9.0.3, jwks-rsa 4.1.0',
  algorithms: ['RS256'],
  authentication: null,
  claims_in_id_token: false,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: null,
  callback: null,
  symptoms: [
    { without: 'algorithm', seen: 'JsonWebTokenError: invalid algorithm', setting: null },
    { without: 'token_type', seen: 'an id token is accepted as an access token', setting: "header.typ === 'at+jwt'" },
  ],
  snippets: [{ file: 'verify.mjs', text: verify }],
};
