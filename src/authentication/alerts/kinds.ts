import { nullable, Time } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';

/**
 * `texts`: whose messages the pages for people show. `isRefused`: the last use was refused. `isOfSession`: it is about a session, which cannot
 * vouch for itself. `hasOwnEvent`: another event of the audit log tells the same, and the list of what happened has that one.
 */
type AlertNature = {
  readonly texts: 'token' | 'device' | 'passkey';
  readonly isRefused: boolean;
  readonly isOfSession: boolean;
  readonly hasOwnEvent: boolean;
};

const replayed = { texts: 'token', isRefused: true, isOfSession: false, hasOwnEvent: false } as const;

/** What people are asked about: whether that was them. */
const alertKinds = {
  refresh_token_replayed: replayed,
  code_replayed: replayed,
  new_device: { texts: 'device', isRefused: false, isOfSession: true, hasOwnEvent: true },
  passkey_copied: { texts: 'passkey', isRefused: true, isOfSession: false, hasOwnEvent: true },
} as const satisfies Readonly<Record<string, AlertNature>>;

export type AlertKind = keyof typeof alertKinds;
export const alertKindNames = Object.keys(alertKinds) as readonly AlertKind[];
/** False for one of a later version. */
export const isAlertKind = (name: string): name is AlertKind => Object.hasOwn(alertKinds, name);
export const natureOf = (kind: AlertKind): AlertNature => alertKinds[kind];

/** Who used something, and when. */
export const AlertUse = Type.Object({
  at: nullable(Time),
  not_after: nullable(
    Type.Integer({ description: 'Where `at` is not known any more: it was at this time at the latest. Unix seconds.' }),
  ),
  address: nullable(Type.String({ description: 'The IP address.' })),
  agent: nullable(Type.String({ description: 'The browser or library, as it called itself.' })),
  dpop: Type.Boolean({ description: 'Whether it has proven to have a key (RFC 9449).' }),
});
export type AlertUse = Static<typeof AlertUse>;

/** What is known of it, as it is stored, in the log, and in answers. */
export const alertFacts = {
  uses: Type.Array(AlertUse, {
    description: 'The earlier first. What is null is not known: it was before this was recorded, or long ago.',
  }),
  uses_between: Type.Integer({
    minimum: 0,
    description:
      'Of a token: how often its successors were used between the two. Times of use, not of requests to an API.',
  }),
  passkey: Type.Optional(Type.String({ description: 'The name of the passkey that it is about.' })),
  access_tokens_until: nullable(
    Type.Integer({
      description:
        'The end of the newest access token that was issued. It is not active any more; an API that asks nobody may take it until then. Unix seconds.',
    }),
  ),
};
export const AlertFacts = Type.Object(alertFacts);
export type AlertFacts = Static<typeof AlertFacts>;
