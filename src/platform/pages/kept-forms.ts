import type { FastifyRequest } from 'fastify';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { FormText, fillPath, type Parameters, parseParameters } from '../http/parameters.ts';
import { ownFields } from './form.ts';
import { keepForm, takeForm } from './kept-forms.store.ts';

// A form that needs a fresh sign-in is interrupted by it. What was typed is kept meanwhile, for the session in which it was
// typed, and shown once on the page of the form. Nothing is submitted: the user presses the button again.

export type KeptFormDeps = Pick<Deps, 'db' | 'clock' | 'vault' | 'log'>;

/** Where it posts to, and what was typed. */
export type KeptForm = { path: string; typed: Parameters };

declare module 'fastify' {
  interface FastifyRequest {
    keptForm?: KeptForm;
  }
}

const keptSeconds = 600;
const longestText = 16_384;

/** Names of fields that are never kept. Those of passwords, codes and credentials; a test reads the pages for others. */
export const secretFields: readonly string[] = ['password', 'code', 'credential', 'client_secret', ...ownFields];

const purposeOf = (session_id: string) => `kept-form ${session_id}`;

/** Keeps the form of a refused request, in place of another of the same session. If it fails, the refusal is as it is. */
export async function keepInterruptedForm(deps: KeptFormDeps, request: FastifyRequest): Promise<void> {
  const { signedInUser, body } = request;
  const { form } = request.routeOptions.config;
  if (!signedInUser || form === undefined || !(body instanceof FormText) || body.text.length > longestText) return;
  const { session_id } = signedInUser;
  try {
    const entries = Object.entries(parseParameters(body.text).values).filter(([name]) => !secretFields.includes(name));
    if (entries.length === 0) return;
    const content: KeptForm = { path: pathOf(request), typed: Object.fromEntries(entries) };
    const sealed = deps.vault.browser.seal(purposeOf(session_id), JSON.stringify(content));
    const page = fillPath(form, request.params as Parameters);
    await keepForm(deps.db, { session_id, page, sealed, expires_at: now(deps) + keptSeconds });
  } catch (error) {
    deps.log.warn({ err: error }, 'a form was not kept');
  }
}

/** @returns the form that was kept for this session and page, once. */
export async function takeKeptForm(deps: KeptFormDeps, request: FastifyRequest): Promise<KeptForm | undefined> {
  const session_id = request.signedInUser?.session_id;
  if (session_id === undefined) return undefined;
  const sealed = await takeForm(deps.db, { session_id, page: pathOf(request) }, now(deps));
  if (sealed === undefined) return undefined;
  try {
    return JSON.parse(deps.vault.browser.open(purposeOf(session_id), sealed)) as KeptForm;
  } catch {
    return undefined; // it was kept for another session, or under another key
  }
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0]!;
