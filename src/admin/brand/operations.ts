import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { headers, saidOfBrand } from '../../brand/brand-fields.ts';
import { picturesKb } from '../../brand/brand-rules.ts';
import {
  type BrandEdit,
  editBrand,
  maxVersions,
  readBrand,
  readBrandHistory,
  restoreBrand,
  setBrandPicture,
} from '../../brand/change-brand.ts';
import type { Deps } from '../../oauth/deps.ts';
import { answerOf, type Edited } from '../../platform/edited.ts';
import { notFound } from '../../platform/errors.ts';
import { inCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { locales, nameOfLanguage } from '../../platform/i18n/translate.ts';
import {
  type BrandVersion,
  fontNames,
  inEffect,
  longestTitle,
  longestWords,
  type PictureName,
  pictureNames,
  places,
} from '../../platform/pages/brand.ts';
import { list, table, time } from '../../platform/report.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { textPatterns } from '../../platform/text.ts';
import { administration, strictBody } from '../operation-parts.ts';

const someWords = Type.Optional(
  Type.Record(Type.String(), Type.Record(Type.String(), nullable(Type.String())), {
    description:
      'By place and language, as `setBrandWords` has them; null: nothing of its own. What is left out stays.',
  }),
);

const EditBody = Type.Object({ ...saidOfBrand, words: someWords });

/** What a body says, of which nothing is checked yet. */
export const brandEditOf = ({ header, ...given }: Static<typeof EditBody>): BrandEdit => {
  const { version: _, ...edit } = given as typeof given & { version?: number };
  return { ...(edit as BrandEdit), ...(header && { name_shown: header === 'logo_and_name' }) };
};

const text = (description: string) => nullable(Type.String({ description }));
const Picture = Type.Object({
  url: Type.String({ description: 'For anyone.' }),
  width: Type.Integer({ description: 'Pixels.' }),
  height: Type.Integer({ description: 'Pixels.' }),
});
const BrandRecord = Type.Object({
  version: Type.Integer({ description: '0: nobody has said anything, and the settings count.' }),
  name: Type.String({ description: 'By which people know the service.' }),
  header: Type.Enum([...headers], { description: 'What stands at the top of a page.' }),
  button: Type.String({ description: 'The colour of buttons.' }),
  button_dark: text('The colour of buttons in the dark; null: made of the other.'),
  link: Type.String({ description: 'The colour of links and lines.' }),
  link_dark: text('The colour of links and lines in the dark; null: made of the other.'),
  background: text('The colour around the card of a sign-in; null: the built-in one.'),
  background_dark: text('The same in the dark.'),
  radius: Type.Integer({ description: 'Pixels.' }),
  font: Type.Enum([...fontNames], { description: 'Which of the families that systems bring.' }),
  terms_url: text('The page with the terms of service.'),
  privacy_url: text('The page with the privacy policy.'),
  help_url: text('The page with help.'),
  support: text('Where people ask for help.'),
  terms_since: text('Since when the terms are what they are, `YYYY-MM-DD`.'),
  pictures: Type.Record(Type.String(), Picture, { description: 'Those that were uploaded.' }),
  words: Type.Record(Type.String(), Type.Record(Type.String(), Type.String()), {
    description: 'What the service says in its own words, by place and language.',
  }),
});

const record = (deps: Deps, { version, settings }: BrandVersion) => {
  const { pictures, words, support, name_shown, ...brand } = inEffect(deps.config, settings);
  return {
    version,
    ...brand,
    header: name_shown ? ('logo_and_name' as const) : ('logo' as const),
    support: support ?? null,
    pictures: Object.fromEntries(
      Object.entries(pictures).map(([name, { picture_id, media_type, width, height }]) => [
        name,
        { url: `${deps.config.baseUrl}${deps.branding.pathOf({ picture_id, media_type })}`, width, height },
      ]),
    ),
    words: words as Readonly<Record<string, Readonly<Record<string, string>>>>,
  };
};
const answer = { description: 'The brand as it is shown.', schema: BrandRecord };
const answered = (deps: Deps, edit: Edited<BrandVersion>) => answerOf(edit, (version) => record(deps, version));

const describe = ({ pictures, words, ...brand }: ReturnType<typeof record>) =>
  table([
    ...Object.entries(brand).flatMap(([name, value]) =>
      value === null ? [] : [[name, String(value)] as [string, string]],
    ),
    ...Object.entries(pictures).map(
      ([name, { url: at, width, height }]) => [name, `${width} x ${height}, ${at}`] as [string, string],
    ),
    ...Object.entries(words).flatMap(([place, said]) =>
      Object.entries(said ?? {}).map(([locale, one]) => [`${place} (${locale})`, String(one)] as [string, string]),
    ),
  ]);

/** The member of the words in one language. */
const wordsMember = (locale: string) => `text_${locale.toLowerCase().replaceAll('-', '_')}` as const;
const wordsIn = (locale: string) =>
  Type.Optional(
    nullable(
      Type.String({
        description: `What people read there, in ${nameOfLanguage(locale)}; null: nothing of its own.`,
        ...inCode({ minLength: 1, maxLength: longestWords, pattern: textPatterns.visible }),
      }),
    ),
  );
const members: Readonly<Record<`text_${string}`, ReturnType<typeof wordsIn>>> = Object.fromEntries(
  locales.map((locale) => [wordsMember(locale), wordsIn(locale)]),
);

const part = (permission: AdministrativePermission) => ({ ...administration(permission), answer });
const ofPicture = {
  picture: `\`logo\`, \`logo_dark\`, \`icon\` or \`touch_icon\`.`,
};
const pictureNamed = (picture: string): PictureName => {
  const name = pictureNames.find((one) => one === picture);
  if (name === undefined) throw notFound();
  return name;
};

const ofVersion = Type.Optional(
  Type.Integer({
    description: 'The version that the change is made of. It is refused if there is a newer one.',
    minimum: 0,
  }),
);

export const brandOperations = {
  read: operation({
    ...part('brand:read'),
    id: 'readBrand',
    method: 'GET',
    path: '/v1/admin/brand',
    summary: 'Read what the service looks like and is called',
    run: async (deps) => record(deps, await readBrand(deps)),
    command: { name: 'brand show', text: describe },
  }),

  edit: operation({
    ...part('brand:write'),
    id: 'editBrand',
    method: 'PATCH',
    path: '/v1/admin/brand',
    summary: 'Change what the service looks like and is called',
    description:
      'What is left out stays. A colour is used as it is for buttons, with the text on it that is readable; for links it is made darker or lighter until it can be read. Each change is a new version, which pages show within a second.',
    body: strictBody({ ...saidOfBrand, words: someWords, version: ofVersion }, { minProperties: 1 }),
    example: { name: 'Acme', button: '#ffd400', terms_url: 'https://example.com/terms' },
    refusals: ['stale_revision'],
    run: async (deps, { caller, body }) =>
      answered(deps, await editBrand(deps, caller, brandEditOf(body), body.version)),
    command: { name: 'brand edit', text: describe, fixed: { words: undefined } },
  }),

  setWords: operation({
    ...part('brand:write'),
    id: 'setBrandWords',
    method: 'POST',
    path: '/v1/admin/brand/words',
    summary: 'Say something at a place in words of your own',
    description: `Titles have at most ${longestTitle} characters, other words ${longestWords}. A reader of a language that nothing is said in reads the English, else the first.`,
    body: strictBody({ place: Type.Enum([...places], { description: 'Where people read it.' }), ...members }),
    // Of a member that the type does not name: there is one for each language.
    example: { place: 'sign_in', ...{ text_en: 'Sign in with your university account.' } },
    refusals: ['stale_revision'],
    async run(deps, { caller, body }) {
      const { place } = body;
      const texts: Readonly<Record<string, unknown>> = body;
      const given = locales.flatMap((locale) => {
        const one = texts[wordsMember(locale)] as string | null | undefined;
        return one === undefined ? [] : [[locale, one] as const];
      });
      return answered(deps, await editBrand(deps, caller, { words: { [place]: Object.fromEntries(given) } }));
    },
    command: { name: 'brand set-words', operands: { place: { value: 'place', oneOf: [...places] } }, text: describe },
  }),

  setPicture: operation({
    ...part('brand:write'),
    id: 'setBrandPicture',
    method: 'PUT',
    path: '/v1/admin/brand/pictures/:picture',
    summary: 'Upload a picture of the brand',
    description: `A PNG, JPEG or WebP file, recognized by its bytes, of which only what is drawn is kept: a logo of any width and at most ${picturesKb.logo} KB; a square PNG for the tab of a browser (\`icon\`, ${picturesKb.icon} KB) and for the home screen of a phone (\`touch_icon\`, ${picturesKb.touch_icon} KB).`,
    parameters: ofPicture,
    body: strictBody({
      content: Type.String({
        description: 'The file in base64.',
        ...inCode({ contentEncoding: 'base64', maxLength: Math.ceil((picturesKb.touch_icon * 1024) / 3) * 4 }),
      }),
    }),
    example: {
      content: 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAQAAAAA3iMLMAAAAC0lEQVR4nGNgwA0AAB4AAeVJ3TEAAAAASUVORK5CYII=',
    },
    refusals: ['not_found', 'stale_revision'],
    run: async (deps, { caller, picture, body }) =>
      answered(deps, await setBrandPicture(deps, caller, pictureNamed(picture), Buffer.from(body.content, 'base64'))),
  }),

  removePicture: operation({
    ...part('brand:write'),
    id: 'removeBrandPicture',
    method: 'DELETE',
    path: '/v1/admin/brand/pictures/:picture',
    summary: 'Show a picture of the brand no more',
    parameters: ofPicture,
    refusals: ['not_found', 'stale_revision'],
    run: async (deps, { caller, picture }) =>
      answered(deps, await setBrandPicture(deps, caller, pictureNamed(picture), undefined)),
    command: { name: 'brand remove-picture', operands: { picture: { oneOf: [...pictureNames] } }, text: describe },
  }),

  versions: operation({
    ...administration('brand:read'),
    id: 'listBrandVersions',
    method: 'GET',
    path: '/v1/admin/brand/versions',
    summary: 'List the versions of the brand',
    answer: {
      description: `The newest first, at most ${maxVersions}.`,
      schema: Type.Object({
        versions: Type.Array(
          Type.Object({
            version: Type.Integer({ description: 'Its number.' }),
            name: Type.String({ description: 'Of the service, in it.' }),
            actor: Type.String({ description: 'Who made it.' }),
            restored_from: nullable(Type.Integer({ description: 'The version that it is the same as.' })),
            fields: nullable(
              Type.Array(Type.String(), {
                description:
                  'What it changed, such as `button` and `words.sign_in`; null: the version before is no more.',
              }),
            ),
            created_at: Time,
          }),
          { description: 'The versions.' },
        ),
      }),
    },
    run: async (deps) => ({
      versions: (await readBrandHistory(deps)).map(({ settings, fields = null, ...version }) => ({
        ...version,
        fields,
        name: inEffect(deps.config, settings).name,
      })),
    }),
    command: {
      name: 'brand versions',
      text: ({ versions }) =>
        list([
          ['VERSION', 'NAME', 'MADE BY', 'SAME AS', 'MADE', 'CHANGED'],
          ...versions.map((one) => [
            String(one.version),
            one.name,
            one.actor,
            one.restored_from === null ? '' : String(one.restored_from),
            time(one.created_at),
            one.fields?.join(' ') ?? '',
          ]),
        ]),
    },
  }),

  restore: operation({
    ...part('brand:write'),
    id: 'restoreBrand',
    method: 'POST',
    path: '/v1/admin/brand/restore',
    summary: 'Go back to a version of the brand',
    description: 'What came after it is undone by a new version, which can be undone as well.',
    body: strictBody({
      version: Type.Integer({ description: 'The version; 0: as the settings have it.', minimum: 0 }),
    }),
    example: { version: 0 },
    refusals: ['not_found', 'stale_revision'],
    run: async (deps, { caller, body }) => answered(deps, await restoreBrand(deps, caller, body.version)),
    command: {
      name: 'brand restore',
      operands: { version: { value: 'version' } },
      text: describe,
    },
  }),
};
