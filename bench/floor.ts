/**
 * What no provider in Node can beat: a bare node:http server that reads a form, signs an access token and an id token
 * and answers. It checks nothing and keeps nothing. Documents it sends as they are. Started by `startFloor`, in its own process.
 */
import { argon2, createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { startChild, unlimited } from './child.ts';
import { basicAuthorization, type Contender, nonce, scope } from './contender.ts';
import { type Address, formRequest } from './load.ts';

export async function startFloor(port: number): Promise<Contender> {
  const child = await startChild('./floor.ts', port);
  const basic = basicAuthorization('floor-client', randomBytes(32).toString('base64url'));
  return {
    name: 'floor',
    address: { host: '127.0.0.1', port },
    pid: child.pid,
    signIn: [formRequest({ host: '127.0.0.1', port }, signInPath, {}, 'username=ada&password=a-long-passphrase')],
    codes: async (count) =>
      Array.from({ length: count }, () => ({ text: `ac_${randomBytes(32).toString('base64url')}`, basic })),
    copy: async (paths, from) => {
      const documents = await Promise.all(paths.map((path) => readDocument(path, from)));
      await child.ask(documents);
    },
    stop: child.stop,
  };
}

const signInPath = '/signin';
/** As Signet's, in src/authentication/credentials/password-hash.ts. */
const hashCost = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };

type Document = { path: string; headers: Record<string, string>; body: string };

async function readDocument(path: string, from: Address): Promise<Document> {
  const answer = await fetch(`http://localhost:${from.port}${path}`, { headers: { 'accept-encoding': 'identity' } });
  const headers = Object.fromEntries(answer.headers);
  for (const name of ['date', 'connection', 'keep-alive']) delete headers[name]; // Node sends its own
  return { path, headers, body: await answer.text() };
}

const signAsync = (input: string, key: KeyObject): Promise<string> =>
  new Promise((resolve, reject) => {
    sign(null, Buffer.from(input), key, (error, signature) => {
      if (error) reject(error);
      else resolve(`${input}.${signature.toString('base64url')}`);
    });
  });

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

function serve(port: number) {
  const issuer = `http://localhost:${port}`;
  const { privateKey } = generateKeyPairSync('ed25519');
  const kid = randomBytes(32).toString('base64url');
  const accessTokenHeader = encode({ alg: 'EdDSA', kid, typ: 'at+jwt' });
  const idTokenHeader = encode({ alg: 'EdDSA', kid, typ: 'JWT' });

  async function exchange(body: string) {
    const form = new URLSearchParams(body);
    if (form.get('grant_type') !== 'authorization_code' || !form.get('code') || !form.get('code_verifier')) {
      return { status: 400, text: '{"error":"invalid_request"}' };
    }
    const iat = Math.floor(Date.now() / 1000);
    const common = {
      iss: issuer,
      sub: 'usr_4f1d8a52c6b94e7c8f0e3d2a1b',
      aud: 'cl_7c1f5b8e2d4a4f6b9c3e0a1d2f',
      iat,
      exp: iat + 3600,
      auth_time: iat,
      sid: 'ses_9e2c4b7a1f8d4c5e',
      acr: '1',
      amr: ['pwd'],
    };
    const accessTokenClaims = { ...common, client_id: common.aud, scope, jti: randomBytes(16).toString('base64url') };
    const accessToken = await signAsync(`${accessTokenHeader}.${encode(accessTokenClaims)}`, privateKey);
    // OIDC Core §3.1.3.6: left half of the hash that belongs to the algorithm; Ed25519's is SHA-512. So the id token
    // cannot be signed beside the access token, only after it.
    const atHash = createHash('sha512').update(accessToken).digest().subarray(0, 32).toString('base64url');
    const idTokenClaims = { ...common, azp: common.aud, nonce, at_hash: atHash };
    const idToken = await signAsync(`${idTokenHeader}.${encode(idTokenClaims)}`, privateKey);
    const tokens = {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: 3600,
      scope,
      refresh_token: `rt_${randomBytes(48).toString('base64url')}`,
      id_token: idToken,
    };
    return { status: 200, text: JSON.stringify(tokens) };
  }

  const documents = new Map<string | undefined, Document>();
  process.on('message', (copied: Document[]) => {
    for (const document of copied) documents.set(document.path, document);
    process.send?.('copied');
  });

  function answer(request: IncomingMessage, response: ServerResponse) {
    const document = documents.get(request.url);
    if (document) {
      response.writeHead(200, document.headers);
      response.end(document.body);
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      if (request.url === signInPath) {
        const message = Buffer.concat(chunks);
        argon2('argon2id', { ...hashCost, message, nonce: randomBytes(16) }, (error) => {
          response.writeHead(error ? 500 : 303).end();
        });
        return;
      }
      const { status, text } = await exchange(Buffer.concat(chunks).toString('utf8'));
      response.writeHead(status, {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(text),
        'cache-control': 'no-store',
        pragma: 'no-cache',
        'x-content-type-options': 'nosniff',
      });
      response.end(text);
    });
  }

  createServer({ keepAliveTimeout: unlimited }, answer).listen(port, '127.0.0.1', () => process.send?.('listening'));
  process.on('disconnect', () => process.exit(0));
}

if (import.meta.main) serve(Number(process.argv[2]));
