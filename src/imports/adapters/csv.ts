import { type Adapter, flagOf, secondsOf, textOf } from './adapter.ts';

const flags = ['email_verified', 'disabled'] as const;
const times = ['created_at', 'password_changed_at'] as const;

/** Of a column, before the name of the attribute. */
const before = 'attributes.';
const isOfAttribute = (name: string): boolean => name.startsWith(before);

/** A table with the members of our own format as columns, `totp_secret`, and `attributes.` before the name of each attribute. Lists cannot be in it. */
export const csv: Adapter = {
  paths: [],
  attributesOf(row) {
    const cells = Object.entries(row).filter(([name]) => isOfAttribute(name));
    return { ofOperator: Object.fromEntries(cells.map(([name, text]) => [name.slice(before.length), text])) };
  },
  toUser({ totp_secret, groups, ...row }) {
    const secret = textOf(totp_secret);
    return {
      ...Object.fromEntries(Object.entries(row).filter(([name]) => !isOfAttribute(name))),
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
