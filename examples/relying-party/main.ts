/**
 * Starts the example: finds Signet, finds or makes its own client there, and listens.
 * How a product signs people in is in relying-party.ts; this file is what you replace by your own configuration.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as oidc from 'openid-client';
import { relyingParty, scope } from './relying-party.ts';

const env = process.env;
// The settings of a Signet that runs beside it, if they are set in this shell, too.
const issuer = new URL(env.EXAMPLE_ISSUER || env.SIGNET_BASE_URL || `http://localhost:${env.SIGNET_PORT || 3000}`);
const port = Number(env.EXAMPLE_PORT || 4000);
const clientFile = env.EXAMPLE_CLIENT_FILE || fileURLToPath(new URL('.client.json', import.meta.url));

const origin = `http://localhost:${port}`;
const redirect_uri = `${origin}/callback`;
const post_logout_redirect_uri = `${origin}/`;
const isOnThisMachine = ['localhost', '127.0.0.1', '[::1]'].includes(issuer.hostname);

type Credentials = { client_id: string; client_secret: string };

/** What stops the start, as a sentence for whoever started it. */
class Stop extends Error {}

/** Reads the discovery document, which says where everything else is. */
async function discover({ client_id, client_secret }: Credentials): Promise<oidc.Configuration> {
  // The signature of an id token is checked although it comes straight from Signet and not through the browser.
  const execute = [oidc.enableNonRepudiationChecks];
  // openid-client refuses http, and rightly: whoever is on the way could read the secret, the codes and the tokens.
  // Between two processes of one machine nobody is on the way, so there, and only there, it is allowed.
  if (isOnThisMachine && issuer.protocol === 'http:') execute.push(oidc.allowInsecureRequests);
  try {
    return await oidc.discovery(issuer, client_id, {}, oidc.ClientSecretBasic(client_secret), { execute });
  } catch (cause) {
    const start = isOnThisMachine
      ? 'Start it first, in another terminal: npm start. If it runs at another address, set EXAMPLE_ISSUER to that.'
      : 'Is EXAMPLE_ISSUER right?';
    throw new Stop(`Signet does not answer at ${issuer.origin}. ${start}`, { cause });
  }
}

/** Asks about a token that nobody has: whoever is allowed to ask is a client that Signet knows and has approved. */
async function isAccepted(config: oidc.Configuration): Promise<boolean> {
  try {
    await oidc.tokenIntrospection(config, 'none');
    return true;
  } catch (error) {
    if (error instanceof oidc.WWWAuthenticateChallengeError && error.status === 401) return false;
    throw error;
  }
}

/** Beside a Signet of this very checkout the example uses the command line, as the developer who runs both would. */
function register(): Credentials {
  const command = fileURLToPath(new URL('../../bin/signet', import.meta.url));
  const name = ['--name', 'Example relying party', '--library', 'openid-client'];
  const uris = ['--redirect-uri', redirect_uri, '--post-logout-redirect-uri', post_logout_redirect_uri];
  const args = ['clients', 'create', ...name, ...uris, '--scope', scope, '--approve', '--json'];
  try {
    const json = execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    const { client_id, client_secret }: Credentials = JSON.parse(json);
    return { client_id, client_secret };
  } catch (cause) {
    throw new Stop(notRegistered, { cause });
  }
}

const registered = { issuer: issuer.href, redirect_uri, post_logout_redirect_uri };

/** The client of an earlier run, if it was made for this issuer and this address. */
function readKept(): Credentials | undefined {
  if (!existsSync(clientFile)) return undefined;
  const kept = JSON.parse(readFileSync(clientFile, 'utf8'));
  return Object.entries(registered).every(([name, value]) => kept[name] === value) ? kept : undefined;
}

const keep = (credentials: Credentials) =>
  writeFileSync(clientFile, JSON.stringify({ ...registered, ...credentials }), { mode: 0o600 });

async function findClient(): Promise<oidc.Configuration> {
  const { EXAMPLE_CLIENT_ID: client_id, EXAMPLE_CLIENT_SECRET: client_secret } = env;
  const given = client_id ? { client_id, client_secret: client_secret || 'missing' } : readKept();
  const config = await discover(given ?? { client_id: 'none', client_secret: 'none' });
  if (given && (await isAccepted(config))) return config;
  if (client_id) throw new Stop('Signet does not accept EXAMPLE_CLIENT_ID with EXAMPLE_CLIENT_SECRET.');
  if (!isOnThisMachine) throw new Stop(howToRegister);

  const made = register();
  const fresh = await discover(made);
  if (!(await isAccepted(fresh))) throw new Stop(anotherStore);
  keep(made);
  console.log(`Registered and approved a client of its own, ${made.client_id}, and kept it in ${clientFile}`);
  return fresh;
}

const howToRegister = `This example needs a client at ${issuer.origin}. Register a confidential one there with
  redirect URI              ${redirect_uri}
  URI after sign-out        ${post_logout_redirect_uri}
  scopes                    ${scope}
have it approved, and start again with EXAMPLE_CLIENT_ID and EXAMPLE_CLIENT_SECRET set.`;

const notRegistered = `bin/signet could not register a client. Either the Signet at ${issuer.origin} is of another checkout, or it keeps its
data elsewhere: start the example with the same SIGNET_* settings as the server, or give it a client of that server in
EXAMPLE_CLIENT_ID and EXAMPLE_CLIENT_SECRET.`;

const anotherStore = `A client was registered with bin/signet, but the Signet at ${issuer.origin} does not know it: it keeps its
data elsewhere. Start the example with the same SIGNET_* settings as the server, or give it a client of that server in
EXAMPLE_CLIENT_ID and EXAMPLE_CLIENT_SECRET.`;

try {
  const config = await findClient();
  const server = relyingParty(config, origin).listen(port, 'localhost', () => {
    console.log(`\n  The example is ready at ${origin}\n  It signs people in at ${issuer.origin}\n`);
  });
  server.on('error', ({ code }: NodeJS.ErrnoException) => {
    const what = code === 'EADDRINUSE' ? 'is in use: another server runs there' : `cannot be used (${code})`;
    console.error(`Port ${port} ${what}. Choose another one with EXAMPLE_PORT.`);
    process.exitCode = 1;
  });
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
