import type { FastifyReply, FastifyRequest } from 'fastify';
import { tables } from '../../platform/db/tables.ts';
import type { Deps as PlatformDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import { cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { digest, newSecret } from '../../platform/ids.ts';
import { refusalOfBlockedCookies } from '../../platform/pages/cookie-check.ts';
import type { Deps, WaitingRequest } from '../deps.ts';

/** Decisions §3. */
export const waitingRequestSeconds = 600;

/** The secret that ties waiting requests to this browser; made and set if the browser has none. */
export function browserToken(deps: Pick<PlatformDeps, 'config'>, request: FastifyRequest, reply: FastifyReply): string {
  const name = cookieNames(deps.config).browser;
  const present = cookie(request, name);
  const token = present !== undefined && /^bt_[\w-]{43}$/.test(present) ? present : newSecret('bt_');
  // Set anew each time, so that it outlives the youngest request.
  setCookie(reply, deps.config, name, token, waitingRequestSeconds);
  return token;
}

/** The result of `find` for that id, if this browser made the request. */
export async function findInBrowser<Found>(
  deps: Pick<PlatformDeps, 'config'>,
  request: FastifyRequest,
  request_id: string | undefined,
  find: (request_id: string, browser_hash: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  if (request_id !== undefined) request.isForClient = true; // also if it is over
  const token = cookie(request, cookieNames(deps.config).browser);
  if (request_id === undefined || token === undefined || !/^ar_[\w-]{22}$/.test(request_id)) return undefined;
  return find(request_id, digest(token));
}

export const pendingRequestOf = (
  deps: Pick<PlatformDeps, 'config'> & Pick<Deps, 'authorizationRequests'>,
  request: FastifyRequest,
  request_id: string | undefined,
): Promise<WaitingRequest | undefined> => findInBrowser(deps, request, request_id, deps.authorizationRequests.find);

/** @throws {RequestError} `invalid_request`, with a message for the user on how to start again. */
export async function requirePendingRequest(
  deps: Pick<Deps, 'config' | 'authorizationRequests'>,
  request: FastifyRequest,
  request_id: string | undefined,
): Promise<WaitingRequest> {
  const waiting = await pendingRequestOf(deps, request, request_id);
  if (!waiting) throw startAgain(deps, request);
  return waiting;
}

export const startAgain = (deps: Pick<PlatformDeps, 'config'>, request: FastifyRequest) =>
  refusalOfBlockedCookies(deps, request) ??
  refusal('invalid_request', { key: 'signin.over' }, { title: { key: 'error.sign_in_over' } });

/** A browser that a user has signed in with is remembered for a year after its last sign-in. */
export const deviceSeconds = tables.known_devices.expires.keptSeconds;

const browsers = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
] as const;
const systems = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
] as const;

/** "Firefox, Linux", for users to recognise a device by. Undefined if the User-Agent names neither. */
export function deviceName(userAgent: string | null | undefined): string | undefined {
  const find = (known: readonly (readonly [RegExp, string])[]) =>
    known.find(([sign]) => sign.test(userAgent ?? ''))?.[1];
  return [find(browsers), find(systems)].filter(Boolean).join(', ') || undefined;
}

/** Characters. */
const maxAgent = 40;

/**
 * {@link deviceName}, or else what a library calls itself, without what it adds: "python-requests/2.32". Undefined if neither is said.
 * The sender chose it, and it stands in mails, whose programs make a link of a host: so dots stay between digits alone.
 */
export const agentName = (userAgent: string | null | undefined): string | undefined =>
  deviceName(userAgent) ??
  /^[A-Za-z][\w.+-]*(?:\/[\w.+-]+)?/
    .exec(userAgent ?? '')?.[0]
    .slice(0, maxAgent)
    .replace(/(?<!\d)\.|\.(?!\d)/g, '_');
