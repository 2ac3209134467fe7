import { hash, randomFillSync, timingSafeEqual } from 'node:crypto';

/** One call of the operating system for 128 ids. */
const pool = Buffer.allocUnsafe(4096);
let used = pool.length;

/** Fresh bytes of the cryptographic generator, in base64url. They are wiped from the pool. */
function random(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const drawn = pool.subarray(used, used + bytes);
  used += bytes;
  const text = drawn.toString('base64url');
  drawn.fill(0);
  return text;
}

/** A `ClientId` in place of a `UserId` is a compile-time error. A plain string is assignable to each of them. */
type Id<Name extends string> = string & { readonly [named]?: Name };
declare const named: unique symbol;

export type UserId = Id<'user'>;
export type ClientId = Id<'client'>;
export type SecretId = Id<'secret'>;
export type SessionId = Id<'session'>;
export type GrantId = Id<'grant'>;
export type RequestId = Id<'authorization request'>;
export type CredentialId = Id<'service credential'>;
export type EventId = Id<'audit event'>;
export type WebhookId = Id<'webhook'>;
export type DeliveryId = Id<'delivery'>;
export type ApiId = Id<'API'>;
export type GroupId = Id<'group'>;
export type AttributeId = Id<'attribute'>;
export type StreamId = Id<'signal stream'>;
export type AlertId = Id<'security alert'>;

type IdByPrefix = {
  usr: UserId;
  cl: ClientId;
  sec: SecretId;
  ses: SessionId;
  gr: GrantId;
  req: RequestId;
  svc: CredentialId;
  wh: WebhookId;
  msg: DeliveryId;
  api: ApiId;
  grp: GroupId;
  atr: AttributeId;
  sst: StreamId;
  alert: AlertId;
};

/** Beginnings of the ids of everything but users. */
const prefixes =
  'alert|api|ar|atr|cl|end|evt|ew|gr|grp|inv|kid|lo|mail|msg|mv|node|pic|pk|pwv|req|rst|sec|ses|sst|svc|trb|wh';
const otherKinds = new RegExp(`^(?:${prefixes})_`);
const made = new RegExp(`^(?:usr|${prefixes})_[\\w-]{22}$`);

/** Whether an id can be that of a user. One that came from another product begins as it began there: the store alone knows. */
export const mayBeUserId = (id: string): boolean => /^[A-Za-z0-9_|:-]{1,255}$/.test(id) && !otherKinds.test(id);

/** Whether an id looks as if it had been made here; one that came from another product does not. */
export const isOwnId = (id: string): boolean => made.test(id);

/**
 * Two characters of base64url, 4096 values, which all ids and secrets of a user have in common. A store in several parts finds by
 * them where the rows of a user are, without a look-up; one in one part reads them nowhere.
 */
export type Bucket = string & { readonly [named]?: 'bucket' };

/** Behind the prefix, and behind the time of {@link newIdAt}. */
const bucketAt = 8;
const bucketLength = 2;

/** Of a user who is known by an id of another product. */
const bucketOfOther = (id: string): Bucket => hash('sha256', id, 'base64url').slice(0, bucketLength);

/** @param id of a user, or an id or a secret that was made of one. Any other text has a bucket that means nothing. */
export function bucketOf(id: string): Bucket {
  const start = id.indexOf('_') + 1 + bucketAt;
  return madeOfUser.test(id) ? id.slice(start, start + bucketLength) : bucketOfOther(id);
}
const madeOfUser = /^(?:usr|ses|gr|pic|alert|st|ac|at|ln|tb|mc)_[\w-]{22}/;

/** Whether it is an id that was made of a user, and so says which bucket they have. */
export const isIdOfUser = (text: string): boolean => idOfUser.test(text);
const idOfUser = /^(?:usr|ses|gr|pic|alert)_[\w-]{22}$/;

/** From 0 to 4095, in the order of the alphabet of base64url. */
export const bucketNumber = (bucket: Bucket): number => Buffer.from(`AA${bucket}`, 'base64url').readUIntBE(0, 3);

const inBucket = (drawn: string, bucket: Bucket): string =>
  drawn.slice(0, bucketAt) + bucket + drawn.slice(bucketAt + bucketLength);

type IdOf<Prefix extends string> = Prefix extends keyof IdByPrefix ? IdByPrefix[Prefix] : string;
/** Ids of what is a user's: {@link newIdOf} makes them. */
type PrefixOfUser = 'usr' | 'ses' | 'gr' | 'pic' | 'alert';
type Other<Prefix extends string> = Prefix extends PrefixOfUser ? never : Prefix;

/** Not a secret: 128 random bits behind a prefix. */
export const newId = <Prefix extends string>(prefix: Other<Prefix>) => `${prefix}_${random(16)}` as IdOf<Prefix>;

/**
 * The same for rows that are made all the time: the milliseconds since 1970 (48 bits) lead 80 random bits, so that new ids are
 * neighbours in an index. Each random id would be written to a page of its own.
 */
export const newIdAt = <Prefix extends string>(prefix: Other<Prefix>, milliseconds: number) =>
  `${prefix}_${timed(milliseconds)}` as IdOf<Prefix>;

/** {@link newId} of a user: 12 of the 128 bits are the bucket's. */
export const newUserId = (bucket: Bucket): UserId => `usr_${inBucket(random(16), bucket)}`;

/** {@link newIdAt} of a user: 12 of the 80 bits are the bucket's. */
export const newUserIdAt = (bucket: Bucket, milliseconds: number): UserId =>
  `usr_${inBucket(timed(milliseconds), bucket)}`;

/** {@link newId} for what is a user's. */
export const newIdOf = <Prefix extends Exclude<PrefixOfUser, 'usr'>>(user_id: UserId, prefix: Prefix) =>
  `${prefix}_${inBucket(random(16), bucketOf(user_id))}` as IdOf<Prefix>;

/** {@link newIdAt} for what is a user's. */
export const newIdOfAt = <Prefix extends Exclude<PrefixOfUser, 'usr'>>(
  user_id: UserId,
  prefix: Prefix,
  milliseconds: number,
) => `${prefix}_${inBucket(timed(milliseconds), bucketOf(user_id))}` as IdOf<Prefix>;

function timed(milliseconds: number): string {
  time.writeUIntBE(milliseconds, 0, time.length);
  return time.toString('base64url') + random(10);
}
const time = Buffer.alloc(6);

/** Milliseconds since 1970, of {@link newIdAt}; of any other id a number without meaning. The texts of ids do not sort by it. */
export function timeOfId(id: string): number {
  const bytes = Buffer.alloc(time.length);
  bytes.write(id.slice(id.indexOf('_') + 1), 'base64url');
  return bytes.readUIntBE(0, time.length);
}

/** 72 random bits, to distinguish what already has a random id. */
export const newSuffix = (): string => random(9);

type PrefixOfUsersSecret = 'st_' | 'ac_' | 'at_' | 'ln_' | 'tb_' | 'mc_';

/** A bearer secret: 256 random bits (RFC 6749 §10.10 asks for 128, and would like 160). */
export const newSecret = <Prefix extends string = ''>(prefix?: Prefix extends PrefixOfUsersSecret ? never : Prefix) =>
  `${prefix ?? ''}${random(32)}`;

/** The same for what is a user's: 12 of the 256 bits are the bucket's. */
export const newSecretIn = (bucket: Bucket, prefix: PrefixOfUsersSecret): string =>
  prefix + inBucket(random(32), bucket);

/**
 * What is stored of a bearer secret. SHA-256 is enough for 256 random bits. The raw string is hashed, never its decoded
 * bytes, since several strings decode to the same bytes.
 */
export const digest = (secret: string): string => hash('sha256', secret, 'base64url');

/** `expires_at` is Unix seconds; null: never. */
export type StoredSecret = { readonly secret_hash: string; readonly expires_at: number | null };

/** @param at Unix seconds. */
export const isActiveSecret = ({ expires_at }: Pick<StoredSecret, 'expires_at'>, at: number): boolean =>
  expires_at === null || expires_at > at;

/** To tell secrets apart without knowing them: of 256 random bits more than 230 stay unknown. */
export const lastFour = (secret: string): string => secret.slice(-4);

/** Every digest is compared, in constant time, so that the time reveals nothing. @param at Unix seconds. */
export function findActiveSecret<Secret extends StoredSecret>(
  secrets: readonly Secret[],
  secret: string,
  at: number,
): Secret | undefined {
  const sent = Buffer.from(digest(secret));
  const equal = secrets.filter(({ secret_hash }) => timingSafeEqual(sent, Buffer.from(secret_hash)));
  return equal.find((one) => isActiveSecret(one, at));
}

export const matchesActiveSecret = (secrets: readonly StoredSecret[], secret: string, at: number): boolean =>
  findActiveSecret(secrets, secret, at) !== undefined;
