import type { Deps } from '../deps.ts';
import { listIdentities } from '../federation/store.ts';
import { canHavePasskeys } from '../passkeys/relying-party.ts';
import { listPasskeys } from '../passkeys/store.ts';
import { passwordOf } from '../passwords/store.ts';
import type { SignInForm } from './page.ts';

/** What a form offers to sign in with. */
type Ways = Pick<SignInForm, 'providers' | 'offersPasskey' | 'offersPassword'>;

/** Before somebody has said who they are, everybody may have each of them. */
export const everyWay = ({ config }: Pick<Deps, 'config'>): Ways => ({
  providers: config.providers,
  offersPasskey: canHavePasskeys(config),
  offersPassword: true,
});

/** What this person can confirm with. */
export async function waysOf({ db, config }: Pick<Deps, 'db' | 'config'>, user_id: string): Promise<Ways> {
  const [password, passkeys, identities] = await Promise.all([
    passwordOf(db, user_id),
    listPasskeys(db, user_id),
    listIdentities(db, user_id),
  ]);
  const canProveHere = password !== undefined || passkeys.length > 0;
  const providers = config.providers.filter(
    ({ issuer, saysNoTime }) => identities.some((one) => one.issuer === issuer) && !(canProveHere && saysNoTime),
  );
  const hasOther = passkeys.length > 0 || providers.length > 0;
  // Who has nothing at all sees the field all the same: the link to a reset is under it.
  return { providers, offersPasskey: passkeys.length > 0, offersPassword: password !== undefined || !hasOther };
}
