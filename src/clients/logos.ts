import { hash } from 'node:crypto';
import type { Write } from '../platform/db/change.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { fieldProblem, invalidFields } from '../platform/errors.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';
import { logosPath } from '../platform/pages/initials.ts';
import { type PictureFile, readPicture } from '../platform/picture-files.ts';
import type { LogoProblem } from './choices.ts';
import { type Client, proposalOf } from './client.ts';
import { deleteLogo, type LogoRow, logosOf, showLogo, wantLogo } from './logos.store.ts';

// The picture of a client (decision 73): fetched once from its `logo_url` for the reviewer, and shown by us once it is approved.

/** KB of a file: a consent page with one stays below 60. */
export const maxLogoKb = 32;
/** Pixels. */
export const logoSides = { min: 16, max: 1024 };
/** It stands in a square. */
const longest = 2;

/** What is behind an ID never changes. */
const logoIdOf = (content: Buffer): string => hash('sha256', content, 'hex').slice(0, 32);
export const isLogoId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

type Logo = PictureFile & { picture_id: string };

/** By the bytes, of which only what is drawn is kept. */
export function readLogo(file: Buffer): Logo | { problem: LogoProblem; detail: string | null } {
  if (file.length > maxLogoKb * 1024) return { problem: 'large', detail: null };
  const found = readPicture(file);
  if (found === undefined) return { problem: 'type', detail: null };
  const { width, height } = found;
  const [short, long] = [Math.min(width, height), Math.max(width, height)];
  if (short < logoSides.min || long > logoSides.max || long > longest * short)
    return { problem: 'size', detail: `${width} × ${height}` };
  return { ...found, picture_id: logoIdOf(found.content) };
}

/** The path of what people see of a client, which is nothing unless they may use it. */
export const logoOf = ({ status, logo_id }: Pick<Client, 'status' | 'logo_id'>): string | undefined =>
  status === 'approved' && logo_id !== null ? `${logosPath}/${logo_id}` : undefined;

/** The address whose picture a reviewer is to see; of a client that came by itself, not before a user has asked for the review. */
export function wantedLogo(client: Client): string | null {
  const isAsked = client.origin === null || client.review_asked_at !== null || client.status === 'approved';
  return isAsked ? proposalOf(client).logo_url : null;
}

/** For a change of a client: what is fetched is what it wants now, unless people see that already. */
export function followLogo(before: Client, after: Client, now: number): Sql[] {
  const { client_id, logo_id, logo_url } = after;
  const wanted = wantedLogo(after);
  if (wanted === wantedLogo(before)) return [];
  const isShown = logo_id !== null && wanted === logo_url;
  return wanted === null || isShown ? [deleteLogo(client_id, 'found')] : [wantLogo(client_id, wanted, now)];
}

/** For a new client. */
export const firstLogo = (client: Client, now: number): Sql[] => {
  const wanted = wantedLogo(client);
  return wanted === null || client.origin !== null ? [] : [wantLogo(client.client_id, wanted, now)];
};

type Shown = { logo_id: string | null; also: readonly (Sql | Write<never, true>)[] };

/**
 * What people see once a client is as `after`.
 * @param chosen the picture that the reviewer has seen; null: none; undefined: the one there is.
 * @throws invalidFields for another one than there is.
 */
export async function chooseLogo(
  { db }: Pick<Deps, 'db'>,
  client: Client,
  after: Pick<Client, 'logo_url'>,
  chosen: string | null | undefined,
): Promise<Shown> {
  const { client_id } = client;
  const none = { logo_id: null, also: [deleteLogo(client_id, 'shown')] };
  const url = after.logo_url;
  if (url === null || chosen === null) return none;
  const stays = url === client.logo_url ? client.logo_id : null;
  if (stays !== null && (chosen === undefined || chosen === stays)) return { logo_id: stays, also: [] };
  const found = (await logosOf(db, client_id)).find(({ stage }) => stage === 'found');
  const there = found?.url === url ? found.picture_id : null;
  if (chosen !== undefined && chosen !== there)
    throw invalidFields([fieldProblem('logo_id', { key: 'problem.client.logo' })]);
  return there === null ? none : { logo_id: there, also: showLogo(client_id, there) };
}

/** Whether a picture came since the last decision about a client that shows none: that there is none is then a decision, too. */
export const isUnseen = (
  { status, logo_id, updated_at }: Pick<Client, 'status' | 'logo_id' | 'updated_at'>,
  { picture_id, fetched_at }: Pick<LogoRow, 'picture_id' | 'fetched_at'>,
): boolean => status === 'approved' && logo_id === null && picture_id !== null && (fetched_at ?? 0) > updated_at;

/** The picture of a client that {@link isUnseen}. */
export const unseenLogoOf = async ({ db }: Pick<Deps, 'db'>, client: Client): Promise<string | undefined> =>
  (await logosOf(db, client.client_id)).find((row) => isUnseen(client, row))?.picture_id ?? undefined;

/** What reviewers read of the address that a client wants, or has. */
export type LogoState = {
  url: string;
  picture_id: string | null;
  media_type: string | null;
  width: number | null;
  height: number | null;
  bytes: number | null;
  fetched_at: number | null;
  problem: LogoProblem | null;
  detail: string | null;
  /** Whether people see it. */
  is_shown: boolean;
  /** Whether it is still tried by itself. */
  is_waiting: boolean;
};

/** Why there is no picture, for people. */
export const logoProblemText = ({ problem, detail }: Pick<LogoState, 'problem' | 'detail'>): MessageDescriptor => ({
  key: `developer.logo.problem.${problem!}`,
  values: { detail: detail ?? '', kb: maxLogoKb, min: logoSides.min, max: logoSides.max },
});

/** @returns undefined if it has no address. */
export async function readLogoState(deps: Pick<Deps, 'db'>, client: Client): Promise<LogoState | undefined> {
  const url = proposalOf(client).logo_url;
  if (url === null) return undefined;
  const rows = (await logosOf(deps.db, client.client_id)).filter((one) => one.url === url);
  const row = rows.find(({ stage }) => stage === 'found') ?? rows[0];
  if (row === undefined) return { url, ...unknown, is_shown: false, is_waiting: false };
  const isShown = ({ picture_id }: LogoRow) => client.logo_id !== null && picture_id === client.logo_id;
  // One that could not be fetched again is what people see as before, so that an approval of something else leaves it.
  const kept = row.picture_id === null ? rows.find(isShown) : undefined;
  const { problem, detail, is_waiting } = stateOf(row);
  return { ...stateOf(kept ?? row), problem, detail, is_waiting, is_shown: isShown(kept ?? row) };
}

const unknown = {
  picture_id: null,
  media_type: null,
  width: null,
  height: null,
  bytes: null,
  fetched_at: null,
  problem: null,
  detail: null,
} as const;

const stateOf = (row: LogoRow): Omit<LogoState, 'is_shown'> => {
  const { url, picture_id, media_type, width, height, content, fetched_at, problem, detail, next_attempt_at } = row;
  const bytes = content === null ? null : Buffer.byteLength(content, 'base64');
  const is_waiting = next_attempt_at !== null;
  return { url, picture_id, media_type, width, height, bytes, fetched_at, problem, detail, is_waiting };
};

/** The file that a reviewer looks at, before people see it. */
export async function findOwnLogo({ db }: Pick<Deps, 'db'>, client_id: string, picture_id: string) {
  const row = (await logosOf(db, client_id)).find((one) => one.picture_id === picture_id);
  if (row?.content == null || row.media_type === null) return undefined;
  return { media_type: row.media_type, content: Buffer.from(row.content, 'base64') };
}
