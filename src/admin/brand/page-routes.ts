import type { FastifyInstance } from 'fastify';
import { brandProblems } from '../../brand/brand-rules.ts';
import { changedFields, edited, findBrandVersion, readBrand, readBrandHistory } from '../../brand/change-brand.ts';
import type { Deps } from '../../oauth/deps.ts';
import { invalidFields } from '../../platform/errors.ts';
import { acceptFiles, fileIn } from '../../platform/http/form-with-file.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { type BrandVersion, type PictureName, pictureNames } from '../../platform/pages/brand.ts';
import { html } from '../../platform/pages/html.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import { previewOfPage } from '../../platform/pages/preview.ts';
import type { View } from '../../platform/pages/view.ts';
import { idOf, namesIn } from '../audit/names.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import {
  atFields,
  bodyIn,
  editIn,
  mergedValues,
  otherWordsIn,
  shownIn,
  typedIn,
  valuesOf,
  type Written,
} from './form.ts';
import { brandOperations as operations } from './operations.ts';
import { brandPage, brandPath as path } from './page.ts';
import { chosenIn, previewOf, widths } from './preview.ts';
import { fieldInWords, versionsPage } from './versions-page.ts';

const framePath = `${path}/preview` as const;

/** What the service looks like and is called: a form with a preview of it, its pictures, and its versions. */
export async function brandPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'brand:read');

  /** @param shows in which language the form shows words now, if it is another than they were typed in. */
  async function draw(view: View, shown: Shown, { shows, picture }: { shows?: Locale; picture?: PictureName } = {}) {
    const { form, query = {}, refusal } = shown;
    const typed = picture === undefined && form?.words_shown !== undefined ? form : undefined;
    const newest = await readBrand(deps);
    const language = languageIn(view, typed?.words_shown ?? query.words);
    const written = typed
      ? await writtenIn(typed, newest, language)
      : { values: valuesOf(newest.settings, language), otherWords: {} };
    const fields = shows === undefined ? written : shownIn(written, newest.settings, { from: language, to: shows });
    return brandPage(
      view,
      {
        ...fields,
        ...{ newest, picture, language: shows ?? language, isTyped: typed !== undefined },
        // Words are seen in the language in which they are written.
        chosen: {
          ...{ ...chosenIn(view, typed ?? query), ...(shows !== undefined && { language: shows }) },
          width: widthIn(typed ?? query),
        },
        changedMeanwhile: written.changed?.map((field) => fieldInWords(view, field)),
        problems: atFields(refusal?.problems ?? [], language),
      },
      shown,
    );
  }

  /** What was typed, with what others have changed meanwhile, so that nothing of either is lost. */
  async function writtenIn(form: Parameters, newest: BrandVersion, language: Locale): Promise<Written> {
    const now = valuesOf(newest.settings, language);
    const [values, otherWords] = [typedIn(form, now), otherWordsIn(form)];
    const version = Number(form.version);
    if (version === newest.version) return { values, otherWords };
    const base = await findBrandVersion(deps, version);
    if (base === undefined) return { values, otherWords, changed: [] };
    const changed = changedFields(base.settings, newest.settings);
    return { values: mergedValues(valuesOf(base.settings, language), values, now), otherWords, changed };
  }

  pages.show(path, ({ view, query }) => draw(view, { query }));
  pages.run(operations.edit, {
    path,
    page: path,
    input: (form, { view }) => ({
      body: { ...bodyIn(form, languageIn(view, form.words_shown)), version: Number(form.version) },
    }),
    done: doneOrUnchanged(path, 'saved'),
    explains,
    redraw: ({ view }, shown) => draw(view, shown),
  });
  pages.post(`${path}/draft`, {
    page: path,
    async act({ authorize, view }, form) {
      authorize('brand:write');
      return draw(view, { form }, { shows: languageIn(view, form.words_language) });
    },
  });

  pages.frame(framePath, async ({ view, query }) =>
    previewOf(deps, view, await readBrand(deps), chosenIn(view, query)),
  );
  pages.framedForm(
    framePath,
    async ({ authorize, view }, form) => {
      authorize('brand:write');
      const { version, settings } = await readBrand(deps);
      const language = languageIn(view, form.words_shown);
      const draft = edited(settings, editIn(form, language));
      const problems = brandProblems(draft);
      if (problems.length > 0) throw invalidFields(problems);
      return previewOf(deps, view, { version, settings: draft }, chosenIn(view, form));
    },
    (view, _, problem) =>
      previewOfPage(
        view,
        {
          title: view.plain('admin.brand.preview'),
          content: html`<h1>${view.t('admin.brand.preview.refused')}</h1>\n${problem}`,
        },
        'browser',
      ),
  );

  pages.show(`${path}/versions`, (context) => history(context.view, context));
  async function history(view: View, shown: Shown) {
    const versions = await readBrandHistory(deps);
    return versionsPage(
      view,
      {
        versions,
        names: await namesIn(
          deps,
          [],
          versions.map(({ actor }) => idOf(actor)),
        ),
      },
      shown,
    );
  }
  pages.run(operations.restore, {
    page: `${path}/versions`,
    input: ({ version }) => ({ body: { version: Number(version) } }),
    done: doneOrUnchanged(path, 'restored'),
    explains,
    redraw: ({ view }, shown) => history(view, shown),
  });

  // Files are read for these routes alone.
  await app.register(async (uploads) => {
    acceptFiles(uploads);
    const ofPicture = pagesOf(uploads, deps, 'brand:read');
    const redraw = ({ view, picture }: { view: View; picture: string }, shown: Shown) => {
      const name = pictureNames.find((one) => one === picture);
      return draw(view, shown, name && { picture: name });
    };
    ofPicture.run(operations.setPicture, {
      page: path,
      input: (_, { request }) => ({ body: { content: fileIn(request.body).toString('base64') } }),
      done: doneOrUnchanged(path, 'picture'),
      explains,
      redraw,
    });
    ofPicture.run(operations.removePicture, {
      path: `${path}/pictures/:picture/remove`,
      page: path,
      done: doneOrUnchanged(path, 'picture_removed'),
      explains,
      redraw,
    });
  });
}

const languageIn = (view: View, given: string | undefined): Locale =>
  [view.locale, ...view.languagesOfMail].find((one) => one === given) ?? view.locale;

const widthIn = (given: Readonly<Record<string, string | undefined>>) =>
  widths.find((one) => one === given.width) ?? widths[0];
