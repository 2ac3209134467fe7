import { RequestError } from '../../platform/errors.ts';
import { form } from '../../platform/http/operation.ts';
import { Type } from '../../platform/schema.ts';
import { credentialParameters } from '../client-authentication/methods.ts';
import { authorizationCode } from './authorization-code-grant.ts';
import { refreshToken } from './refresh-token-grant.ts';
import { type GrantType, resourceParameter } from './token-request.ts';

const grantTypes: ReadonlyMap<string, GrantType> = new Map([
  ['authorization_code', authorizationCode],
  ['refresh_token', refreshToken],
]);
export const grantTypeNames: readonly string[] = [...grantTypes.keys()];

/** @throws {RequestError} `unsupported_grant_type`, and as that grant type does. */
export const redeem: GrantType['redeem'] = (deps, request) => {
  const grantType = grantTypes.get(request.form.grant_type ?? '');
  if (grantType) return grantType.redeem(deps, request);
  throw new RequestError('unsupported_grant_type', `Only ${grantTypeNames.join(' and ')} are supported.`);
};

/** The form of each, for the API description. */
const forms = [...grantTypes].map(([name, { description, parameters }]) => ({
  grant_type: Type.Literal(name, { description }),
  ...credentialParameters,
  ...parameters,
  ...resourceParameter,
}));
export const tokenForm = Type.Union(forms.map((members) => form(members)));

/** What the endpoint reads of a form, once each; `resource` may come several times. */
export const tokenParameters: readonly string[] = [...new Set(forms.flatMap((members) => Object.keys(members)))].filter(
  (name) => !(name in resourceParameter),
);
