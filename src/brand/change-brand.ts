import { hash } from 'node:crypto';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mayConflict } from '../platform/db/change.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { Deps as PlatformDeps } from '../platform/deps.ts';
import type { Edited } from '../platform/edited.ts';
import { fieldProblem, invalidFields, notFound, staleRevision } from '../platform/errors.ts';
import {
  type BrandPicture,
  type BrandSettings,
  type BrandVersion,
  inEffect,
  noVersion,
  type PictureName,
  type Place,
  plainBrand,
} from '../platform/pages/brand.ts';
import { readPicture } from '../platform/picture-files.ts';
import { normalizeName } from '../platform/text.ts';
import { brandProblems, picturesKb, shapeProblem } from './brand-rules.ts';
import {
  deletePictures,
  deleteVersionsBefore,
  insertPicture,
  insertVersion,
  readNewest,
  readPictureFile,
  readVersions,
} from './store.ts';

export type BrandDeps = Pick<PlatformDeps, 'db' | 'clock' | 'config' | 'branding'>;

/** The versions that can be come back to. */
export const maxVersions = 50;

/** What is to be another: null as {@link BrandSettings} has it; of words, null for those of a language that are no more. */
export type BrandEdit = Partial<Omit<BrandSettings, 'pictures' | 'words'>> & {
  words?: Readonly<Partial<Record<Place, Readonly<Record<string, string | null>>>>>;
};

/** The newest version; without any, what follows from the settings alone. */
export const readBrand = async ({ db }: Pick<BrandDeps, 'db'>): Promise<BrandVersion> =>
  withDefaults(await readNewest(db));

/** A member that a version of the time before did not have is as it was then. */
const withDefaults = (found: BrandVersion | undefined): BrandVersion =>
  found ? { version: found.version, settings: { ...plainBrand, ...found.settings } } : noVersion;

/** The newest first. */
export const readBrandVersions = ({ db }: Pick<BrandDeps, 'db'>) => readVersions(db, maxVersions);

/** The newest first, each with the members that it changed; undefined where the version before is no more. */
export async function readBrandHistory(deps: Pick<BrandDeps, 'db'>) {
  const versions = await readBrandVersions(deps);
  return versions.map((one, at) => {
    const before = one.version === 1 ? noVersion : withDefaults(versions[at + 1]);
    const isKnown = before.version === one.version - 1;
    return { ...one, fields: isKnown ? changedFields(before.settings, withDefaults(one).settings) : undefined };
  });
}

/** One of those that can be come back to, or that of the settings. */
export async function findBrandVersion(
  deps: Pick<BrandDeps, 'db'>,
  version: number,
): Promise<BrandVersion | undefined> {
  if (version === 0) return noVersion;
  const found = (await readBrandVersions(deps)).find((one) => one.version === version);
  return found && withDefaults(found);
}

/**
 * @param version the one that the edit was made of; undefined: whichever is the newest.
 * @throws {RequestError} `invalid_request` with a problem for each field; `stale_revision` if there is a newer version.
 */
export async function editBrand(
  deps: BrandDeps,
  caller: Caller,
  edit: BrandEdit,
  version?: number | undefined,
): Promise<Edited<BrandVersion>> {
  const before = await readBrand(deps);
  if (version !== undefined && version !== before.version) throw staleRevision(before.version);
  const settings = edited(before.settings, edit);
  const problems = brandProblems(settings);
  if (problems.length > 0) throw invalidFields(problems);
  return replace(deps, caller, before, settings);
}

/** What an edit would make of the brand: for a preview, too. */
export function edited(before: BrandSettings, { words = {}, ...edit }: BrandEdit): BrandSettings {
  const given = Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));
  const settings: BrandSettings = { ...before, ...given };
  // In a shell, a # begins a comment.
  const colour = (text: string | null) =>
    text
      ?.trim()
      .toLowerCase()
      .replace(/^(?=[0-9a-f]{6}$)/, '#') ?? null;
  return {
    ...settings,
    name: settings.name && normalizeName(settings.name),
    button: colour(settings.button),
    button_dark: colour(settings.button_dark),
    link: colour(settings.link),
    link_dark: colour(settings.link_dark),
    background: colour(settings.background),
    background_dark: colour(settings.background_dark),
    words: mergedWords(before.words, words),
  };
}

function mergedWords(before: BrandSettings['words'], edits: NonNullable<BrandEdit['words']>): BrandSettings['words'] {
  const merged = { ...before } as Record<string, Readonly<Record<string, string>>>;
  for (const [place, said] of Object.entries(edits)) {
    const all: Record<string, string | null> = { ...merged[place], ...said };
    const kept = Object.entries(all).flatMap(([locale, text]) =>
      text === null ? [] : [[locale, text.trim()] as const],
    );
    if (kept.length === 0) delete merged[place];
    else merged[place] = Object.fromEntries(kept);
  }
  return merged;
}

/**
 * @param file as it was sent, of which only what is drawn is kept; undefined: none any more.
 * @throws {RequestError} `invalid_request` for what is no picture, or does not fit where it is shown.
 */
export async function setBrandPicture(
  deps: BrandDeps,
  caller: Caller,
  name: PictureName,
  file: Buffer | undefined,
): Promise<Edited<BrandVersion>> {
  const before = await readBrand(deps);
  const { [name]: shown, ...others } = before.settings.pictures;
  if (file === undefined) {
    if (shown === undefined) return { after: before, isChanged: false };
    return replace(deps, caller, before, { ...before.settings, pictures: others });
  }
  const read = readBrandPicture(name, file);
  const { content: _, ...picture } = read;
  const settings = { ...before.settings, pictures: { ...others, [name]: picture } };
  return replace(deps, caller, before, settings, [insertFile(deps, read)]);
}

/** A picture and its file, of which only what is drawn is kept. */
export type BrandPictureFile = BrandPicture & { readonly content: Buffer };

/**
 * Makes everything what it is said to be, by one version. @param pictures all that are to be shown; undefined: those that are.
 * @throws {RequestError} `invalid_request` with a problem for each field; `stale_revision` if something else was changed at the same moment.
 */
export async function setBrand(
  deps: BrandDeps,
  caller: Caller,
  wanted: Omit<BrandSettings, 'pictures'>,
  pictures?: Readonly<Partial<Record<PictureName, BrandPictureFile>>>,
): Promise<Edited<BrandVersion>> {
  const before = await readBrand(deps);
  const problems = brandProblems(wanted);
  if (problems.length > 0) throw invalidFields(problems);
  const files = Object.values(pictures ?? {});
  const shown = Object.entries(pictures ?? {}).map(([name, { content: _, ...picture }]) => [name, picture]);
  const settings = { ...wanted, pictures: pictures ? Object.fromEntries(shown) : before.settings.pictures };
  return replace(
    deps,
    caller,
    before,
    settings,
    files.map((one) => insertFile(deps, one)),
  );
}

/** The files of the pictures that are shown. */
export async function readBrandPictures(
  { db }: Pick<BrandDeps, 'db'>,
  { pictures }: Pick<BrandSettings, 'pictures'>,
): Promise<Partial<Record<PictureName, BrandPictureFile>>> {
  const read = Object.entries(pictures).map(async ([name, picture]) => {
    const found = await readPictureFile(db, picture.picture_id);
    return found ? [[name, { ...picture, content: Buffer.from(found.content, 'base64') }] as const] : [];
  });
  return Object.fromEntries((await Promise.all(read)).flat());
}

const insertFile = (deps: Pick<BrandDeps, 'clock'>, { picture_id, media_type, content }: BrandPictureFile): Sql =>
  insertPicture({ picture_id, media_type, content: content.toString('base64'), created_at: now(deps) });

/** @throws {RequestError} `invalid_request`. */
export function readBrandPicture(name: PictureName, file: Buffer): BrandPictureFile {
  const kb = picturesKb[name];
  const refuse = (key: 'missing' | 'size' | 'type') =>
    invalidFields([fieldProblem('content', { key: `problem.brand.picture.${key}`, values: { kb } })]);
  if (file.length === 0) throw refuse('missing');
  if (file.length > kb * 1024) throw refuse('size');
  const found = readPicture(file);
  if (found === undefined) throw refuse('type');
  const problem = shapeProblem(name, found);
  if (problem !== undefined) throw invalidFields([problem]);
  const { media_type, width, height, content } = found;
  return { picture_id: pictureIdOf(content), media_type, width, height, content };
}

/** What is behind an ID never changes. */
export const pictureIdOf = (content: Buffer): string => hash('sha256', content, 'hex').slice(0, 32);

/**
 * Undoes everything after a version, by a new one that is the same. @param version 0: as the settings have it.
 * @throws {RequestError} `not_found`; `stale_revision` if something else was changed at the same moment.
 */
export async function restoreBrand(deps: BrandDeps, caller: Caller, version: number): Promise<Edited<BrandVersion>> {
  const [before, wanted] = await Promise.all([readBrand(deps), findBrandVersion(deps, version)]);
  if (wanted === undefined) throw notFound();
  return replace(deps, caller, before, wanted.settings, [], version);
}

async function replace(
  deps: BrandDeps,
  caller: Caller,
  before: BrandVersion,
  settings: BrandSettings,
  pictures: readonly Sql[] = [],
  restored_from: number | null = null,
): Promise<Edited<BrandVersion>> {
  const fields = changedFields(before.settings, settings);
  if (fields.length === 0) return { after: before, isChanged: false };
  const at = now(deps);
  const version = before.version + 1;
  const versions = await readBrandVersions(deps);
  const oldest = version - maxVersions + 1;
  const [kept = [], gone = []] = [true, false].map((isKept) =>
    versions.filter((one) => one.version >= oldest === isKept).flatMap((one) => idsOf(one.settings)),
  );
  const used = new Set([...idsOf(settings), ...kept]);
  const unused = gone.filter((picture_id) => !used.has(picture_id));
  const { name } = inEffect(deps.config, settings);
  const after = { version, name, fields, ...(restored_from !== null && { restored_from }) };
  const event = auditEvent({ action: 'brand.changed', ...caller, before: { version: before.version }, after }, at);
  const { actor } = caller;
  const done = await deps.db.shared.change({
    run: {
      version: mayConflict(insertVersion({ version, settings, restored_from, actor, created_at: at })),
      pictures,
      older: deleteVersionsBefore(oldest),
      unused: unused.length > 0 ? deletePictures(unused) : undefined,
      event: event.statement,
    },
  });
  deps.branding.forget();
  if (!done.ok) throw staleRevision(version);
  return { after: { version, settings }, isChanged: true };
}

const idsOf = ({ pictures = {} }: BrandSettings): string[] =>
  Object.values(pictures).map(({ picture_id }) => picture_id);

/** For the log, which keeps names and no texts: members that differ, and of pictures and words which. */
export function changedFields(before: BrandSettings, after: BrandSettings): string[] {
  const differ = (one: unknown, other: unknown) => textOf(one) !== textOf(other);
  const keysOf = (...values: object[]) => [...new Set(values.flatMap((value) => Object.keys(value)))];
  const within = (member: 'pictures' | 'words') => {
    const [old, made]: Readonly<Record<string, unknown>>[] = [before[member], after[member]] as never;
    return keysOf(old!, made!)
      .filter((name) => differ(old![name], made![name]))
      .map((name) => `${member}.${name}`);
  };
  return (Object.keys(plainBrand) as (keyof BrandSettings)[]).flatMap((member) =>
    member === 'pictures' || member === 'words'
      ? within(member)
      : differ(before[member], after[member])
        ? [member]
        : [],
  );
}

const textOf = (value: unknown): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  ) ?? '';
