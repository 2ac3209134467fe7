import {
  existingUsers,
  handleWrites,
  insertUser,
  noteSecondFactor,
  setDisabled,
  usersOfAddresses,
} from '../accounts/statements.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { maxPasskeys } from '../authentication/credentials/webauthn.ts';
import { insertActiveTotp, insertIdentity, insertPasskey, setPassword } from '../authentication/statements.ts';
import { stepAt, totpPurpose } from '../authentication/two-factor/totp.ts';
import { groupNameKey, maxGroupsOfUser } from '../groups/group.ts';
import { findGroupsByKeys, insertMember } from '../groups/statements.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange, type Writes } from '../platform/db/change.ts';
import { type Part, StoreUnavailable } from '../platform/db/db.ts';
import { allOf, type Sql } from '../platform/db/sql.ts';
import { emailKeys } from '../platform/email-address.ts';
import { inEnglish, type MessageKey } from '../platform/i18n/translate.ts';
import { type GroupId, newUserIdAt, type UserId } from '../platform/ids.ts';
import { claimsOf, type Unclaimed, unclaimedEmail } from './claims.ts';
import type { ImportDeps } from './deps.ts';
import type { Member } from './format.ts';
import type { Totp } from './read-factors.ts';
import type { CheckedUser, Omissions, Problem } from './read-user.ts';
import { findImported, importKey, insertImported, undoEverything } from './store.ts';

/** What has become of a user. `unchanged`: the same import has had them before. */
export type Outcome =
  | { status: 'imported'; user_id: UserId; dropped: readonly Problem[] }
  | { status: 'unchanged'; user_id: UserId }
  | { status: 'refused'; problems: readonly Problem[] };

export type Import = {
  /** Where the users come from. Ids are remembered with it, so the same name continues an import. */
  source: string;
  caller: Caller;
  omissions: Omissions;
  /** Changes nothing, and finds out what would be. */
  dryRun?: boolean;
};

/** A user on the way into the store, at a place of the batch. */
type Entry = {
  place: number;
  user: CheckedUser;
  user_id: UserId;
  import_key: string;
  dropped: Problem[];
  group_ids: readonly GroupId[];
};

const sentence = (key: MessageKey): string => inEnglish({ key });

/**
 * Stores users, and what they sign in with, in one change with the event that reports them: after a crash all of them are there or
 * none; in a store of several parts, all of one part. A user who cannot be stored is left out, and the others are stored. No mail is sent, and no one gets a role.
 * @returns an outcome for each, in order.
 */
export async function importUsers(
  deps: ImportDeps,
  { source, caller, omissions, dryRun }: Import,
  users: readonly CheckedUser[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const at = now(deps);
  const entries = users.map((user, place): Entry => {
    const user_id = user.sub ?? newUserIdAt(deps.placement.bucketOfEmail(user.email), deps.clock());
    return { place, user, user_id, import_key: importKey(source, user.external_id), dropped: [], group_ids: [] };
  });
  const refuse = ({ place }: Entry, path: string, message: string) => {
    outcomes[place] = { status: 'refused', problems: [{ path, message }] };
  };
  const fresh = await leaveOutKnown(deps, entries, { outcomes, refuse });
  const known = await findTheirGroups(deps, fresh, { omissions, refuse });
  const triedClaims = new Set<string>();
  for (const [part, some] of Map.groupBy(known, ({ user_id }) => deps.db.of(user_id))) {
    let left = some;
    while (left.length > 0) {
      const after = { source, users: left.length };
      const event = auditEvent({ action: 'user.list_imported', ...caller, after }, at).statement;
      const failed = await storeIn(deps, part, left, { at, event, dryRun, triedClaims });
      if (failed === undefined) {
        for (const { place, user_id, dropped } of left) outcomes[place] = { status: 'imported', user_id, dropped };
        break;
      }
      left = withoutRefused(left, failed, { omissions, outcomes, refuse });
    }
  }
  return outcomes;
}

const tried = 'tried';

type Storing = {
  at: number;
  event: Sql;
  dryRun: boolean | undefined;
  /** Of a dry run: what users of the parts before would have. */
  triedClaims: Set<string>;
};

/**
 * Users of one part. What others may have in another one is claimed before; their notes that are elsewhere follow, so that who is known to
 * the import is there: a user of whom a crash has left no note is refused when the import is repeated.
 * @returns what has refused it; undefined if all are stored, or would be.
 */
async function storeIn(
  deps: ImportDeps,
  part: Part,
  entries: readonly Entry[],
  { at, event, dryRun, triedClaims }: Storing,
): Promise<string | undefined> {
  const claims = entries.map((entry) => claimsOf(deps, entry, at));
  const nameOf = new Map(claims.flatMap(({ named }) => [...named]));
  for (const [claim, name] of nameOf) if (triedClaims.has(claim.key)) return name;
  const notes = new Map(entries.map((entry) => [entry, noteOf(entry, at)]));
  const isHere = ({ import_key }: Entry) => deps.db.of(import_key) === part;
  const unclaimed = await Promise.all(entries.map((entry) => unclaimedEmail(deps, part, entry)));
  const wanted = claims.map(({ user_id, named }) => ({ user_id, taken: [...named.keys()] }));
  const done = await deps.claims.holdingAll(wanted, (ticketOf) => {
    const writes = entries.map((entry, index) => ({
      ...(isHere(entry) && notes.get(entry)),
      ...writesOf(deps, entry, at, unclaimed[index]!),
      [`claim-${entry.place}`]: ticketOf(entry.user_id),
    }));
    const run: Writes = {
      ...Object.assign({}, ...writes),
      event,
      ...(dryRun && { [tried]: mustChange(undoEverything) }),
    };
    return part.change({ run });
  });
  if (!done.ok) {
    const failed = 'claim' in done && done.claim ? nameOf.get(done.claim)! : String(done.failed);
    if (failed.startsWith('claim-')) throw new StoreUnavailable('An import stood still for too long. Repeat it.');
    if (failed !== tried) return failed;
    for (const claim of nameOf.keys()) triedClaims.add(claim.key);
    return undefined;
  }
  const elsewhere = entries.filter((entry) => !isHere(entry));
  for (const [other, some] of Map.groupBy(elsewhere, ({ import_key }) => deps.db.of(import_key)))
    await other.change({ run: Object.assign({}, ...some.map((entry) => notes.get(entry))) as Writes });
  return undefined;
}

const noteOf = ({ place, user_id, import_key }: Entry, at: number): Writes => ({
  [`key-${place}`]: mayConflict(insertImported(import_key, user_id, at)),
});

type Decisions = { outcomes: Outcome[]; refuse(entry: Entry, path: string, message: string): void };

/** One read of each kind for all of them, so that the change has to be tried again for few. */
async function leaveOutKnown(
  deps: ImportDeps,
  entries: readonly Entry[],
  { outcomes, refuse }: Decisions,
): Promise<Entry[]> {
  const { db } = deps;
  if (entries.length === 0) return [];
  const imported = new Map(
    (
      await findImported(
        db,
        entries.map(({ import_key }) => import_key),
      )
    ).map((one) => [one.import_key, one.user_id]),
  );
  const fresh: Entry[] = [];
  for (const entry of entries) {
    const user_id = imported.get(entry.import_key);
    if (user_id === undefined) {
      fresh.push(entry);
      imported.set(entry.import_key, entry.user_id);
    } else outcomes[entry.place] = { status: 'unchanged', user_id };
  }
  if (fresh.length === 0) return [];
  const kept = fresh.flatMap(({ user }) => user.sub ?? []);
  const [addressed, existing] = await Promise.all([
    usersOfAddresses(
      deps,
      fresh.map(({ user }) => user.email),
    ),
    kept.length === 0 ? [] : existingUsers(db, kept),
  ]);
  const addresses = new Set(addressed.map(({ email_key }) => email_key));
  const subjects = new Set<string>(existing.map(({ user_id }) => user_id));
  return fresh.filter((entry) => {
    const keys = emailKeys(entry.user.email);
    if (keys.some((key) => addresses.has(key))) refuse(entry, 'email', sentence('problem.email.taken'));
    else if (subjects.has(entry.user_id)) refuse(entry, 'sub', takenSubject);
    else {
      for (const key of keys) addresses.add(key);
      subjects.add(entry.user_id);
      return true;
    }
    return false;
  });
}

/** Refuses who is in a group that there is not here, or leaves the group out. */
async function findTheirGroups(
  { db }: ImportDeps,
  entries: Entry[],
  { omissions, refuse }: Pick<Decisions, 'refuse'> & { omissions: Omissions },
): Promise<Entry[]> {
  const keys = new Set(entries.flatMap(({ user }) => user.groups.map(groupNameKey)));
  if (keys.size === 0) return entries;
  const known = new Map(
    (await findGroupsByKeys(db, [...keys])).map(({ name, group_id }) => [groupNameKey(name), group_id]),
  );
  return entries.flatMap((entry) => {
    const found = entry.user.groups.map((name) => known.get(groupNameKey(name)));
    const unknown = found.flatMap((group_id, place) =>
      group_id === undefined ? [{ path: `groups/${place}`, message: 'There is no group of this name here.' }] : [],
    );
    const [first] = unknown;
    if (first && !omissions.dropUnusable.has('groups')) {
      refuse(entry, first.path, first.message);
      return [];
    }
    const group_ids = [...new Set(found.filter((one) => one !== undefined))];
    return [{ ...entry, group_ids, dropped: [...entry.dropped, ...unknown] }];
  });
}

const takenSubject = 'Another account has this subject.';

/** What a statement was about that has refused the change; its name is that with the place of the user. */
const problemsOf: Readonly<Record<string, (entry: Entry, index: number) => { path: string; message: string }>> = {
  handle: () => ({ path: 'preferred_username', message: sentence('problem.profile.preferred_username.taken') }),
  user: () => ({ path: 'email', message: sentence('problem.email.taken') }),
  identity: (_, index) => ({ path: `identities/${index}`, message: 'Is linked to another account.' }),
  passkey: (_, index) => ({ path: `passkeys/${index}`, message: 'Is registered for another account.' }),
};

/** @returns the others, and the user anew, without what could not be stored, if that may be left out. */
function withoutRefused(
  entries: readonly Entry[],
  failed: string,
  { omissions, outcomes, refuse }: Decisions & { omissions: Omissions },
): Entry[] {
  const [, kind = '', place = '', index = ''] = /^([a-z]+)-(\d+)(?:-(\d+))?$/.exec(failed) ?? [];
  const entry = entries.find((one) => one.place === Number(place));
  if (!entry) throw new Error(`A statement without a user has refused an import: ${failed}`);
  const others = entries.filter((one) => one !== entry);
  if (kind === 'key') {
    outcomes[entry.place] = { status: 'unchanged', user_id: entry.user_id };
    return others;
  }
  const problem = problemsOf[kind]!(entry, Number(index));
  const lesser = lesserUser(entry.user, kind, Number(index));
  const [member = ''] = problem.path.split('/');
  if (lesser && omissions.dropUnusable.has(member as Member)) {
    return [...others, { ...entry, user: lesser, dropped: [...entry.dropped, problem] }];
  }
  refuse(entry, problem.path, problem.message);
  return others;
}

function lesserUser(user: CheckedUser, kind: string, index: number): CheckedUser | undefined {
  if (kind === 'handle') return { ...user, preferred_username: undefined };
  if (kind === 'identity') return { ...user, identities: user.identities.filter((_, at) => at !== index) };
  return kind === 'passkey' ? { ...user, passkeys: user.passkeys.filter((_, at) => at !== index) } : undefined;
}

/** Of the user's own part. A user is disabled last, since a disabled one gets no passkeys. */
function writesOf(
  deps: ImportDeps,
  { place, user, user_id, group_ids }: Entry,
  at: number,
  unclaimed: Unclaimed,
): Writes {
  const { email_verified, password_hash, totp, identities, passkeys } = user;
  const { sub: _, disabled, ...own } = user;
  const past = (time: number | undefined, otherwise: number) => Math.min(time ?? otherwise, at);
  const created_at = past(user.created_at, at);
  const updated_at = past(user.updated_at, at);
  const name = (what: string, index?: number) => `${what}-${place}${index === undefined ? '' : `-${index}`}`;
  const row = {
    ...own,
    user_id,
    role: 'user' as const,
    email_verified_at: email_verified ? past(user.email_verified_at, at) : null,
    created_at,
    updated_at,
    last_sign_in_at: user.last_sign_in_at === undefined ? null : past(user.last_sign_in_at, at),
  };
  const min_characters = user.password_min_characters ?? null;
  const password = password_hash === undefined ? undefined : { password_hash, min_characters };
  const { taken } = handleWrites(deps.db, user_id, user.preferred_username, at);
  const hasSecondFactor = totp !== undefined || passkeys.length > 0;
  return {
    ...(taken && { [name('handle')]: taken }),
    [name('user')]: [...insertUser(row, at), ...unclaimed],
    ...(password && { [name('password')]: setPassword(user_id, password, user.password_changed_at ?? created_at) }),
    ...(totp && { [name('totp')]: writeTotp(deps, user_id, totp, at) }),
    ...Object.fromEntries(
      identities.map((one, index) => {
        const linked_at = past(one.linked_at, at);
        const identity = { ...one, user_id, linked_at, last_used_at: past(one.last_used_at, linked_at) };
        return [name('identity', index), mayConflict(insertIdentity(identity, at))];
      }),
    ),
    ...Object.fromEntries(
      passkeys.map(({ backed_up, ...one }, index) => {
        const passkey = {
          ...one,
          user_id,
          backed_up_at: backed_up ? past(one.backed_up_at, at) : null,
          created_at: past(one.created_at, at),
          last_used_at: one.last_used_at === undefined ? null : past(one.last_used_at, at),
        };
        return [name('passkey', index), mustChange(mayConflict(insertPasskey(passkey, maxPasskeys)))];
      }),
    ),
    ...(group_ids.length > 0 && {
      [name('groups')]: group_ids.map((group_id) =>
        insertMember({ group_id, user_id, provider: null, added_at: at }, maxGroupsOfUser),
      ),
    }),
    ...(hasSecondFactor && { [name('factor')]: noteSecondFactor(user_id, allOf([])) }),
    ...(disabled && { [name('disabled')]: setDisabled(user_id, true, past(user.disabled_at, at), updated_at) }),
  };
}

function writeTotp({ vault }: ImportDeps, user_id: UserId, totp: Totp, at: number): Sql {
  const { confirmed_at = at, last_used_at, secret } = totp;
  const used = last_used_at === undefined ? undefined : Math.min(last_used_at, at);
  const active = { user_id, secret_sealed: vault.seal(totpPurpose(user_id), secret), step: stepAt(at) };
  return insertActiveTotp(active, Math.min(confirmed_at, at), used);
}
