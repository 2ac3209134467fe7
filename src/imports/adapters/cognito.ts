import { type Adapter, flagOf, joined, listOf, secondsOf, textOf, usernameUnlessAddress } from './adapter.ts';

/** Before the names of attributes that a pool has of its own. */
const custom = 'custom:';

/** `aws cognito-idp list-users`, or a CSV with the header that `get-csv-header` gives. Cognito gives no hashes. */
export const cognito: Adapter = {
  paths: [['Users']],
  attributesOf(user) {
    const named = listOf(user.Attributes).map(({ Name, Value }) => [String(Name), Value] as const);
    const own = [...named, ...Object.entries(user)].filter(([name]) => name.startsWith(custom));
    return { ofOperator: Object.fromEntries(own.map(([name, value]) => [name.slice(custom.length), value])) };
  },
  toUser(user) {
    const attributes = Object.fromEntries(listOf(user.Attributes).map(({ Name, Value }) => [String(Name), Value]));
    const of = (name: string) => textOf(attributes[name] ?? user[name]);
    const sub = of('sub');
    const username = textOf(user.Username) ?? of('cognito:username') ?? of('preferred_username');
    return {
      external_id: sub ?? username,
      email: of('email'),
      email_verified: flagOf(of('email_verified')),
      name: of('name') ?? joined(of('given_name'), of('family_name')),
      given_name: of('given_name'),
      middle_name: of('middle_name'),
      family_name: of('family_name'),
      nickname: of('nickname'),
      preferred_username: username === sub ? undefined : usernameUnlessAddress(username),
      profile: of('profile'),
      website: of('website'),
      picture: of('picture'),
      gender: of('gender'),
      birthdate: of('birthdate'),
      zoneinfo: of('zoneinfo'),
      locale: of('locale'),
      disabled: flagOf(user.Enabled) === false,
      created_at: secondsOf(user.UserCreateDate),
    };
  },
};
