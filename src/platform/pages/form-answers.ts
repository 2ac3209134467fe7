import { hkdfSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { outcomeUnknown } from '../errors.ts';
import { cookie, cookieNames } from '../http/cookies.ts';
import { FormText } from '../http/parameters.ts';
import { digest } from '../ids.ts';
import { sealUnder } from '../vault.ts';
import { formIdOf } from './form.ts';
import { claimForm, findFormAnswer, keepFormAnswer, releaseForm } from './form-answers.store.ts';

// A browser whose user clicks twice throws the answer to the first request away, cookies included, and shows that to the second.
// So the second gets the answer of the first: each form is drawn with a random id, and acts once. What was sent opens the answer,
// and the store has neither.

type AnswerDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'log'>;

declare module 'fastify' {
  interface FastifyRequest {
    formClaim?: FormKeys;
  }
}

type Answer = { status: number; headers: Record<string, string | string[]>; body: string; sessions: string[] };

const keptSeconds = 60;
/** Forms in progress of one session, or of one address without a session. */
const maxClaims = 50;
/** In characters. A larger answer is not kept. */
const longestBody = 131_072;
const longestWaitMs = 30_000;
const purpose = 'form-answer';

/** Every `POST` of a page, except for files and for previews: its form acts once. Call it before the routes are added. */
export function answerFormsOnce(app: FastifyInstance, deps: AnswerDeps): void {
  app.decorateRequest('formClaim', undefined);
  const before = (request: FastifyRequest, reply: FastifyReply) => begin(deps, request, reply);
  const after = (request: FastifyRequest, reply: FastifyReply, body: unknown) => finish(deps, request, reply, body);
  app.addHook('onRoute', (route) => {
    if (route.config?.page !== true || route.method !== 'POST' || route.config.changesNothing) return;
    route.preHandler = [route.preHandler ?? [], before].flat();
    route.onSend = [route.onSend ?? [], after].flat();
  });
}

type FormKeys = ReturnType<typeof keysOf>;

/** Of all that was sent: a form that was filled in differently is another one. */
function keysOf(url: string, text: string) {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', `${url}\n${text}`, 'signet/1', use, 32));
  return { form_hash: derive('form-hash').toString('base64url'), sealed: sealUnder(derive('form-answer')) };
}

async function begin(deps: AnswerDeps, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { body, url } = request;
  if (!(body instanceof FormText) || formIdOf(body.text) === undefined) return undefined;
  const keys = keysOf(url, body.text);
  const { form_hash } = keys;
  const session = sessionOf(deps, request);
  const sender = session === '' ? request.ip : session;
  for (let waitedMs = 0, ms = 25; waitedMs <= longestWaitMs; waitedMs += ms) {
    const at = now(deps);
    if (await claimForm(deps.db, { form_hash, sender, expires_at: at + keptSeconds }, maxClaims, at)) {
      request.formClaim = keys;
      return undefined;
    }
    const first = await findFormAnswer(deps.db, form_hash, at);
    if (first === undefined) return undefined; // too many: it acts without a claim
    if (first.sealed !== null) return repeat(reply, JSON.parse(keys.sealed.open(purpose, first.sealed)), session);
    ms = Math.min(ms * 2, 1000);
    await sleep(ms);
  }
  throw outcomeUnknown(); // the first one is without end, or its process has ended
}

/** @returns undefined if the answer was for another session: then the form is judged like one that was not sent before. */
function repeat(reply: FastifyReply, { status, headers, body, sessions }: Answer, session: string) {
  if (!sessions.includes(session)) return undefined;
  return reply.code(status).headers(headers).send(body);
}

/** Refusals are not kept: what was refused may be sent again. */
async function finish(deps: AnswerDeps, request: FastifyRequest, reply: FastifyReply, body: unknown) {
  const { formClaim } = request;
  if (formClaim === undefined) return body;
  request.formClaim = undefined;
  const { form_hash, sealed } = formClaim;
  const content = body ?? '';
  try {
    if (reply.statusCode >= 400 || typeof content !== 'string' || content.length > longestBody) {
      await releaseForm(deps.db, form_hash);
      return body;
    }
    const headers = Object.fromEntries(
      Object.entries(reply.getHeaders()).map(([name, value]) => [name, asText(value)]),
    );
    const sessions = [sessionOf(deps, request), startedSession(deps, headers['set-cookie'])].filter(
      (one) => one !== undefined,
    );
    const answer: Answer = { status: reply.statusCode, headers, body: content, sessions };
    await keepFormAnswer(deps.db, form_hash, sealed.seal(purpose, JSON.stringify(answer)));
  } catch (error) {
    deps.log.warn({ err: error }, 'the answer to a form was not kept');
  }
  return body;
}

const asText = (value: number | string | string[] | undefined) => (Array.isArray(value) ? value : String(value));

const sessionOf = ({ config }: AnswerDeps, request: FastifyRequest): string =>
  digestOf(cookie(request, cookieNames(config).session));

/** The session whose cookie the answer sets: the browser may have it already when it sends the form again. */
function startedSession({ config }: AnswerDeps, cookies: string | string[] = []): string | undefined {
  const start = `${cookieNames(config).session}=`;
  const set = [cookies].flat().find((one) => one.startsWith(start));
  return set && digestOf(set.slice(start.length).split(';', 1)[0]);
}

const digestOf = (token: string | undefined): string => (token ? digest(token) : '');
