import { domainToASCII } from 'node:url';
import { findUser } from '../accounts/statements.ts';
import type { Deps } from '../platform/deps.ts';
import type { ClientOrigin } from './choices.ts';
import type { Client } from './client.ts';
import { logoOf } from './logos.ts';
import { hostOfMetadata } from './metadata-url.ts';
import { destinationOf } from './redirect-uri.ts';

// What a client shows of itself: a name, a picture and URLs. Users decide by them whom to trust, so a name must look like what it
// is (OAuth 2.1 §7.12), and a picture is one that a reviewer has seen. Of the URLs the server fetches that of the picture alone.

/** Alphabets that share shapes: "Рау" can be Cyrillic. */
const lookalikeScripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];

/** For reviewers: such a name may imitate another one. Honest names do this too, so it refuses nothing. */
export const mixesScripts = (name: string): boolean =>
  lookalikeScripts.filter((script) => script.test(name)).length > 1;

type Origin = Pick<Client, 'client_id' | 'origin' | 'redirect_uris'>;

/**
 * By what people recognize a client that came by itself, since its name is its own word: the host of its document, which has been
 * fetched there; of one that has registered itself where it receives responses. Undefined for any other client.
 */
export function originHostOf({ client_id, origin, redirect_uris }: Origin): string | undefined {
  if (origin === null) return undefined;
  return origin === 'metadata_document' ? hostOfMetadata(client_id) : destinationOf(redirect_uris[0] ?? '');
}

/** Its name, and of one that came by itself the host, too. */
export function nameForUsers(client: Origin & Pick<Client, 'name'>): string {
  const host = originHostOf(client);
  return host === undefined ? client.name : `${client.name} (${host})`;
}

/** What pages of people show of it. */
export const appForUsers = (client: Client) => ({ clientName: nameForUsers(client), clientLogo: logoOf(client) });

/**
 * Who is responsible for a client: the operator, no one but the host that it came from, a deleted user, or an owner, of whom at most the domain of a verified
 * address is shown. The name that a user chose is not reviewed, so it proves nothing.
 */
export type RegisteredBy =
  | 'operator'
  | 'gone'
  | { domain: string | undefined }
  | { origin: ClientOrigin; host: string | undefined };

export async function registeredBy({ db }: Pick<Deps, 'db'>, client: Client): Promise<RegisteredBy> {
  const { is_first_party, owner_user_id, origin } = client;
  if (origin !== null) return { origin, host: originHostOf(client) };
  if (is_first_party) return 'operator';
  const owner = owner_user_id === null ? undefined : await findUser(db, owner_user_id);
  if (owner === undefined) return 'gone';
  if (owner.email_verified_at === null) return { domain: undefined };
  // In ASCII, as the host beside it, where no letter looks like another.
  return { domain: domainToASCII(owner.email.split('@').at(-1) ?? '') || undefined };
}
