import { inCode, nullable } from '../platform/http/operation.ts';
import { fontNames, radii } from '../platform/pages/brand.ts';
import { Type } from '../platform/schema.ts';
import { textPatterns } from '../platform/text.ts';
import { longestBrandName } from './brand-rules.ts';

// What may be said of the brand besides pictures and words, for whatever takes it: requests, commands, files.

const url = (what: string) =>
  Type.Optional(
    nullable(Type.String({ description: `${what}; null: none.`, ...inCode({ maxLength: 300, pattern: '^https://' }) })),
  );
const colour = (what: string, otherwise: string) =>
  Type.Optional(
    nullable(
      Type.String({
        description: `${what}, as \`#rrggbb\`; null: ${otherwise}.`,
        ...inCode({ pattern: '^#?[0-9A-Fa-f]{6}$' }),
      }),
    ),
  );

export const headers = ['logo', 'logo_and_name'] as const;

export const saidOfBrand = {
  name: Type.Optional(
    nullable(
      Type.String({
        description: 'By which people know the service; null: SIGNET_NAME.',
        ...inCode({ minLength: 1, maxLength: longestBrandName, pattern: textPatterns.name }),
      }),
    ),
  ),
  header: Type.Optional(Type.Enum([...headers], { description: 'What stands at the top of a page.' })),
  button: colour('Of buttons', 'SIGNET_ACCENT'),
  button_dark: colour('Of buttons in the dark', 'made of the other'),
  link: colour('Of links and lines', 'SIGNET_ACCENT'),
  link_dark: colour('Of links and lines in the dark', 'made of the other'),
  background: colour('Around the card of a sign-in', 'the built-in one'),
  background_dark: colour('Around the card of a sign-in in the dark', 'the built-in one'),
  radius: Type.Optional(
    Type.Integer({ description: 'Of the corners of a button, in pixels.', minimum: radii.min, maximum: radii.max }),
  ),
  font: Type.Optional(Type.Enum([...fontNames], { description: 'Which of the families that systems bring.' })),
  terms_url: url('The page with the terms of service'),
  privacy_url: url('The page with the privacy policy'),
  help_url: url('The page with help'),
  support: Type.Optional(
    nullable(
      Type.String({
        description: 'Where people ask for help, an email address or an https URL; null: SIGNET_SUPPORT.',
        ...inCode({ minLength: 1, maxLength: 300 }),
      }),
    ),
  ),
  terms_since: Type.Optional(
    nullable(
      Type.String({
        description: 'Since when the terms are what they are, such as `2027-03-01`; null: not said.',
        ...inCode({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' }),
      }),
    ),
  ),
};
