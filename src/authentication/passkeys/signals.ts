import type { Config } from '../../platform/config.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import { isKnownPasskey, type Passkey } from '../credentials/passkeys.store.ts';
import { parseCredential, readAssertion, relyingParty, userHandle } from '../credentials/webauthn.ts';
import type { Deps } from '../deps.ts';

/** The name of a static method of `PublicKeyCredential`, and its options (WebAuthn Level 3, Signal API). */
type Signal = readonly [name: string, options: Readonly<Record<string, unknown>>];

const signalElement = (signals: readonly Signal[]): Html =>
  html`<div hidden data-passkey-signals="${JSON.stringify(signals)}"></div>`;

/** The page, which also says that to the browser. */
const withSignals = (page: Page, signals: readonly Signal[]): Page => ({
  ...page,
  scripts: [...(page.scripts ?? []), 'passkey-signals'],
  content: html`${page.content}\n${signalElement(signals)}`,
});

type Owner = { user_id: string; email: string; name: string | null };

/** With all passkeys of the user, and under which names browsers list them. A passkey that was removed here is offered no more. */
export function withAcceptedPasskeys(
  { config }: { config: Config },
  page: Page,
  { user_id, email, name }: Owner,
  passkeys: readonly Passkey[],
): Page {
  const { rpID: rpId } = relyingParty(config);
  const own = userHandle(user_id).toString('base64url');
  const byHandle = Map.groupBy(passkeys, ({ user_handle }) => user_handle ?? own);
  if (!byHandle.has(own)) byHandle.set(own, []);
  const signals = [...byHandle].flatMap(([userId, some]): Signal[] => [
    [
      'signalAllAcceptedCredentials',
      { rpId, userId, allAcceptedCredentialIds: some.map(({ credential_id }) => credential_id) },
    ],
    ['signalCurrentUserDetails', { rpId, userId, name: email, displayName: name ?? email }],
  ]);
  return withSignals(page, signals);
}

/**
 * With the passkey that was just presented, if there is none such here. One of a user who is disabled is there, and stays in the
 * browser. The requester learns that an id is unknown, and has to present one of some 128 random bits for it.
 */
export async function withUnknownPasskey(
  deps: Pick<Deps, 'db' | 'claims' | 'config'>,
  page: Page,
  credential: string | undefined,
): Promise<Page> {
  const credentialId = idIn(credential);
  if (credentialId === undefined || (await isKnownPasskey(deps, credentialId))) return page;
  return withSignals(page, [['signalUnknownCredential', { rpId: relyingParty(deps.config).rpID, credentialId }]]);
}

function idIn(credential: string | undefined): string | undefined {
  try {
    return readAssertion(parseCredential(credential)).credential.id;
  } catch {
    return undefined;
  }
}
