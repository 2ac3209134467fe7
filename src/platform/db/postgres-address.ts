import { accessSync, constants } from 'node:fs';
import { ConfigError } from '../errors.ts';

/** The values of `target_session_attrs` that mean what we do anyway: of several servers the primary is used. */
const primaryOnly = ['read-write', 'primary'];
const sslModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];
const files = ['sslcert', 'sslkey', 'sslrootcert'];
/** Those of `pg` that have an effect beside what we set ourselves. */
const parameters = [
  ...['application_name', 'host', 'lock_timeout', 'options', 'password', 'port', 'user'],
  ...['ssl', 'sslmode', 'sslnegotiation', 'uselibpqcompat', ...files, 'target_session_attrs'],
];

const parts = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/s;

/** As it may be shown and kept: without password and parameters. */
export function withoutPassword(url: string): string {
  const [, scheme = '', login = '', hosts = '', rest = ''] = parts.exec(url) ?? [];
  const [user = ''] = login.slice(0, -1).split(':');
  return `${scheme}${user && `${user}@`}${hosts}${rest.split(/[?#]/)[0]}`;
}

/** The same database at another server: with the same role, password and parameters. @param server as `host:port`. */
export function atServer(url: string, server: string): string {
  const [, scheme = '', login = '', , rest = ''] = parts.exec(url) ?? [];
  const [path = '', query] = rest.split('?', 2);
  const given = new URLSearchParams(query);
  for (const name of ['host', 'port']) given.delete(name);
  return `${scheme}${login}${server}${path}${given.size > 0 ? `?${given}` : ''}`;
}

/** Whether it is in the URL itself, which others see on a command line. */
export const hasPassword = (url: string): boolean =>
  (parts.exec(url)?.[2] ?? '').includes(':') || /[?&]password=/i.test(url);

/**
 * The servers that a URL names, as libpq writes several: `postgres://user:password@one:5432,two:5433/database?…`.
 * @returns one URL for each, as `pg` reads it.
 * @throws {ConfigError} which repeats nothing that may be secret.
 */
export function serversOf(url: string): string[] {
  const [, scheme, login = '', hosts = '', rest = ''] = parts.exec(url) ?? [];
  if (scheme === undefined || `${login}${hosts}${rest}` === '') {
    throw refusal('must start with postgres://. Omit it to use the embedded SQLite.');
  }
  const [path = '', query] = rest.split('?', 2);
  const given = new URLSearchParams(query);
  refuseUnlessUsable(given);
  given.delete('target_session_attrs');
  const suffix = given.size > 0 ? `?${given}` : '';
  return hosts.split(',').map((host, _, { length }) => {
    const server = `${scheme}${login}${host}${path}${suffix}`;
    // Without a host `pg` takes the parameter, or the machine itself.
    const isReadable = URL.canParse(host === '' && length === 1 ? server.replace('@/', '@localhost/') : server);
    if (!isReadable || (host === '' && length > 1) || !isDecodable(login + path)) throw refusal(unreadable);
    return server;
  });
}

const refusal = (sentence: string) => new ConfigError(`SIGNET_DATABASE_URL ${sentence}`);

const unreadable =
  'cannot be read. It must look like postgres://user:password@host:5432/database, with further servers as host:5432,other:5432. Percent-encode special characters in the password.';

/** `pg` takes a `%` without two digits as it is. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
    return true;
  } catch {
    return false;
  }
}

function refuseUnlessUsable(given: URLSearchParams): void {
  const unknown = [...given.keys()].find((name) => !parameters.includes(name));
  if (unknown !== undefined) {
    if (!/^[a-z_]{1,40}$/i.test(unknown)) throw refusal(unreadable); // it may be the end of a password
    throw refusal(`has a parameter that Signet does not support: ${unknown}. It supports ${parameters.join(', ')}.`);
  }
  const attributes = given.get('target_session_attrs');
  if (attributes !== null && !primaryOnly.includes(attributes)) {
    throw refusal(`must have target_session_attrs=${primaryOnly.join(' or ')}, or none: Signet uses the primary only.`);
  }
  const mode = given.get('sslmode');
  if (mode !== null && !sslModes.includes(mode)) throw refusal(`must have an sslmode among ${sslModes.join(', ')}.`);
  if (given.get('host')?.includes(',')) throw refusal(unreadable);
  const missing = files.find((name) => given.get(name) && !isReadableFile(given.get(name)!));
  if (missing !== undefined) throw refusal(`names a file that cannot be read, with ${missing}.`);
}

function isReadableFile(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
