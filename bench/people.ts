import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import bcrypt from 'bcryptjs';
import { user } from './contender.ts';
import { type Address, formRequest } from './load.ts';

/** A user who has a session, and another one who signs in again and again, in a browser that is known. */
export type Person = { cookie: string; signIn: Buffer };

type Server = {
  address: Address;
  /** Of everybody. */
  password: string;
  dataDir: string;
  commandLine: (args: string[], input?: string) => Promise<unknown>;
};

const returning = { email: 'alan@example.com', name: 'Alan Turing' };

/** @param count of persons, each of two users. */
export async function peopleOf(count: number, server: Server): Promise<Person[]> {
  for (const { email, name } of [user, returning]) {
    const args = ['users', 'create', '--email', email, '--name', name, '--password-stdin'];
    await server.commandLine(args, server.password);
  }
  const others = Array.from({ length: count - 1 }, (_, at) => [`ada.${at}@example.com`, `alan.${at}@example.com`]);
  if (others.length > 0) await importAll(others.flat(), server);
  const people: Person[] = [];
  for (const [email, of] of [[user.email, returning.email], ...others]) {
    const { address, password } = server;
    const cookie = await signIn(address, password, email);
    const device = await signIn(address, password, of, 'device');
    const form = `username=${encodeURIComponent(of!)}&password=${password}`;
    people.push({ cookie, signIn: formRequest(address, '/signin', { Cookie: device }, form) });
  }
  return people;
}

/** With a hash that their first sign-in replaces. */
async function importAll(emails: readonly string[], { password, dataDir, commandLine }: Server): Promise<void> {
  const password_hash = await bcrypt.hash(password, 4);
  const file = join(dataDir, 'people.jsonl');
  const line = (email: string) =>
    JSON.stringify({ external_id: email, email, email_verified: true, name: email, password_hash });
  await writeFile(file, emails.map(line).join('\n'));
  await commandLine(['users', 'import', file]);
}

/** @returns a cookie: of the new session, or the one by which the browser is recognized. */
export async function signIn(
  address: Address,
  password: string,
  email = user.email,
  kept: 'identity_session' | 'device' = 'identity_session',
): Promise<string> {
  const answer = await fetch(`http://localhost:${address.port}/signin`, {
    method: 'POST',
    body: new URLSearchParams({ username: email, password }),
    redirect: 'manual',
  });
  const cookie = answer.headers.getSetCookie().find((one) => one.startsWith(`signet_${kept}=`));
  if (!cookie) throw new Error(`Signing in gave no session: ${answer.status} ${await answer.text()}`);
  return cookie.split(';', 1)[0]!;
}
