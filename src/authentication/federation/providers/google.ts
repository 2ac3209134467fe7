import type { KnownProvider } from './known-provider.ts';

/** https://developers.google.com/identity/openid-connect/openid-connect */
export const google: KnownProvider = {
  id: 'google',
  label: 'Google',
  issuer: 'https://accounts.google.com',
  promptToChoose: 'select_account',
  saysNoTime: true,
};
