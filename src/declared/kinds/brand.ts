import { saidOfBrand } from '../../brand/brand-fields.ts';
import { brandProblems, colours, picturesKb } from '../../brand/brand-rules.ts';
import {
  type BrandPictureFile,
  edited,
  readBrand,
  readBrandPicture,
  readBrandPictures,
  restoreBrand,
  setBrand,
} from '../../brand/change-brand.ts';
import { type FieldProblem, invalidFields, RequestError } from '../../platform/errors.ts';
import { inCode } from '../../platform/http/operation.ts';
import { type BrandSettings, type PictureName, pictureNames, plainBrand } from '../../platform/pages/brand.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { type Kind, type State, without } from '../kind.ts';
import { DeclaredPicture } from './declared-picture.ts';

const largest = Math.max(...Object.values(picturesKb)) * 1024;

export const BrandEntry = Type.Object(
  {
    ...saidOfBrand,
    words: Type.Optional(
      Type.Record(Type.String(), Type.Record(Type.String(), Type.String()), {
        description: 'By place and language, such as `sign_in: { en: Use your staff account. }`.',
      }),
    ),
    pictures: Type.Optional(
      Type.Record(
        Type.String(),
        Type.String(inCode({ contentEncoding: 'base64', maxLength: Math.ceil(largest / 3) * 4 })),
        {
          description: `All that are shown, each as a file in base64: ${pictureNames.join(', ')}. Left out: those that are.`,
        },
      ),
    ),
  },
  { additionalProperties: false },
);

type Pictures = Readonly<Partial<Record<PictureName, DeclaredPicture<BrandPictureFile>>>>;

const sorted = <Value>(values: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)));

function stateOf({ pictures: _, name_shown, words, ...rest }: BrandSettings, files: Pictures | undefined): State {
  return {
    ...rest,
    header: name_shown ? 'logo_and_name' : 'logo',
    words: sorted(Object.fromEntries(Object.entries(words).map(([place, said]) => [place, sorted(said)]))),
    ...(files && { pictures: sorted(files) }),
  };
}

function settingsOf({ header, pictures: _, ...rest }: State): Omit<BrandSettings, 'pictures'> {
  return { ...(rest as unknown as Omit<BrandSettings, 'pictures'>), name_shown: header === 'logo_and_name' };
}

const declared = (files: Readonly<Partial<Record<PictureName, BrandPictureFile>>>): Pictures =>
  Object.fromEntries(Object.entries(files).map(([name, file]) => [name, new DeclaredPicture(file.picture_id, file)]));

function readPictures(all: Readonly<Record<string, string>>, problems: FieldProblem[]): Pictures {
  const files: Partial<Record<PictureName, BrandPictureFile>> = {};
  for (const [given, text] of Object.entries(all)) {
    const name = pictureNames.find((one) => one === given);
    if (name === undefined) {
      problems.push({ path: `pictures/${given}`, message: `Is not known. There are: ${pictureNames.join(', ')}.` });
      continue;
    }
    try {
      files[name] = readBrandPicture(name, Buffer.from(text, 'base64'));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      problems.push(...error.problems.map((problem) => ({ ...problem, path: `pictures/${name}` })));
    }
  }
  return declared(files);
}

/** A colour that YAML has taken for a comment would be the one of the settings, and no plan would show why. */
const unquoted = (said: object): FieldProblem[] =>
  Object.entries(said)
    .filter(([name, value]) => value === null && colours.some((one) => one === name))
    .map(([path]) => ({
      path,
      message: 'Is empty: in YAML, # begins a comment. Write it in quotes, such as "#ffd400", or leave it out.',
    }));

async function set({ deps, caller }: Parameters<Kind['create']>[0], state: State): Promise<undefined> {
  const pictures = state.pictures as Pictures | undefined;
  const files = pictures && Object.fromEntries(Object.entries(pictures).map(([name, { file }]) => [name, file]));
  await setBrand(deps, caller, settingsOf(state), files);
  return undefined;
}

const plainState = stateOf(plainBrand, undefined);

/** What the service looks like and is called. There is always one, so that no file makes or deletes it. */
export const brand: Kind = {
  name: 'brand',
  fixed: [],
  isUnique: true,
  recognizedBy: () => 'brand',
  nameOf: ({ name }) => (typeof name === 'string' ? name : 'as in the settings'),
  keyFor: () => 'brand',
  members: Object.keys(BrandEntry.properties),
  async list(deps) {
    const { settings } = await readBrand(deps);
    return [{ id: 'brand', state: stateOf(settings, declared(await readBrandPictures(deps, settings))) }];
  },
  read(_deps, entry) {
    const { header, words = {}, pictures, ...said } = entry as Static<typeof BrandEntry>;
    const wanted = edited(plainBrand, {
      ...(said as Partial<BrandSettings>),
      name_shown: header !== 'logo',
      words,
    });
    const problems = [...brandProblems(wanted), ...unquoted(said)];
    const files = pictures && readPictures(pictures, problems);
    if (problems.length > 0) throw invalidFields(problems);
    return stateOf(wanted, files);
  },
  usesSecret: () => false,
  async create(work, state, made) {
    await set(work, state);
    await made('brand');
    return undefined;
  },
  change: (work, _existing, state) => set(work, state),
  async remove({ deps, caller }) {
    await restoreBrand(deps, caller, 0);
  },
  write({ pictures, ...state }) {
    const files = Object.entries((pictures ?? {}) as Pictures);
    if (files.length === 0 && JSON.stringify(state) === JSON.stringify(plainState)) return {};
    const content = files.map(([name, { file }]) => [name, file.content.toString('base64')]);
    return { ...without(state, plainState), pictures: Object.fromEntries(content) };
  },
};
