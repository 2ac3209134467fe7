import type { Browser } from './browser.ts';

/** All but the one that says which way was used last to sign in. */
export const secretCookies = ({ cookies }: Pick<Browser, 'cookies'>): [name: string, value: string][] =>
  [...cookies].filter(([name]) => !name.endsWith('_last_way'));
