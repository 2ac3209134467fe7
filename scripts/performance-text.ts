/** What keys of the figures are called. */
const names: Readonly<Record<string, string>> = {
  signet: 'Signet',
  oidc_provider: 'oidc-provider',
  floor: 'the floor',
  code_exchange: 'code exchange',
  refresh: 'refresh',
  userinfo: 'userinfo',
  introspect: 'introspection',
  userinfo_new: 'userinfo with a new token',
  authorize: 'authorization',
  sign_in: 'sign-in with a password',
  dpop_exchange: 'code exchange with DPoP',
  dpop_refresh: 'refresh with DPoP',
  dpop_userinfo: 'userinfo with DPoP',
  pushed_request: 'pushed request',
  relative: 'its counterpart',
  one_part: 'one part',
  cells: 'eight cells',
  two_servers: 'eight cells on two servers',
};
export const nameOf = (key: string): string => names[key] ?? key.replaceAll('_', ' ');

export const whole = (value: number): string => Math.round(value).toLocaleString('en').replaceAll(',', ' ');

export const markdownTable = (head: string[], rows: string[][]): string =>
  [head, head.map((_, at) => (at === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
