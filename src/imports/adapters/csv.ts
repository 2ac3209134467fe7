import { type Adapter, flagOf, secondsOf, textOf } from './adapter.ts';

const flags = ['email_verified', 'disabled'] as const;
const times = ['created_at', 'password_changed_at'] as const;

/** A table with the members of our own format as columns, and `totp_secret`. Lists cannot be in it. */
export const csv: Adapter = {
  paths: [],
  toUser({ totp_secret, groups, ...row }) {
    const secret = textOf(totp_secret);
    return {
      ...row,
      ...Object.fromEntries(flags.map((name) => [name, name in row ? (flagOf(row[name]) ?? row[name]) : undefined])),
      ...Object.fromEntries(times.map((name) => [name, name in row ? (secondsOf(row[name]) ?? row[name]) : undefined])),
      groups: textOf(groups)
        ?.split(';')
        .map((name) => name.trim())
        .filter(Boolean),
      ...(secret && { totp: { secret } }),
    };
  },
};
