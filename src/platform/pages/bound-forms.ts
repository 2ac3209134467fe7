import type { FastifyRequest } from 'fastify';
import { refusal } from '../errors.ts';
import { FormText, parseParameters } from '../http/parameters.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The user of the request's session, once it is read. The forms of the answer are bound to them. */
    signedInUser?: { readonly user_id: string; readonly locale: string | null };
  }
}

const field = 'drawn_for';

/**
 * Puts the user into every form of a page that was drawn for them. A page stays in its tab while another account signs in
 * in the next one; without this, its "Delete account" would delete that one. Signing out is for whoever it finds.
 */
export const bindForms = (markup: string, user_id: string): string =>
  markup.replace(
    /<form method="post"(?! action="\/signout")[^>]*>/g,
    (tag) => `${tag}<input type="hidden" name="${field}" value="${user_id}">`,
  );

/**
 * The cross-site guard says that a form is ours; this says whose. A form without the field is let through, as programs
 * send them: it guards against a mix-up, not against an attack.
 * @throws {RequestError} `invalid_state` for a form that was drawn for another user than the one who is signed in now.
 */
export function refuseFormOfAnother(request: FastifyRequest, user_id: string): void {
  if (!(request.body instanceof FormText)) return;
  const drawnFor = parseParameters(request.body.text).values[field];
  if (drawnFor === undefined || drawnFor === user_id) return;
  const details = { current_status: 'other_account' };
  throw refusal('invalid_state', { key: 'refusal.other_account' }, { details, back: '/account' });
}
