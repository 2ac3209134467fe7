import type { FastifyInstance } from 'fastify';
import { editors, signUps, valueTypes } from '../../attributes/attribute.ts';
import { requireAttribute } from '../../attributes/manage-attributes.ts';
import { valueInText } from '../../attributes/values.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { locales } from '../../platform/i18n/translate.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { labelMember, attributeOperations as operations } from './operations.ts';
import { attributePage, attributesPage } from './page.ts';

const list = '/admin/attributes';
const one = `${list}/:attribute_id` as const;

/** Which attributes users have here. */
export async function attributePageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'attributes:read');

  const all = async ({ view }: { view: View }, shown: Shown) =>
    attributesPage(view, (await deps.attributes.read()).all, shown);
  pages.show(list, (context) => all(context, context));
  pages.run(operations.define, {
    page: list,
    input: (form) => ({
      body: {
        name: form.name ?? '',
        type: valueTypes.find((type) => type === form.type) ?? 'string',
        ...statedIn(form),
      },
    }),
    done: ({ attribute_id }) => `${list}/${attribute_id}?done=defined`,
    explains,
    redraw: all,
  });

  const redraw = async ({ view, attribute_id }: { view: View; attribute_id: string }, shown: Shown) =>
    attributePage(view, await requireAttribute(deps, attribute_id), shown);
  pages.show(one, (context) => redraw(context, context));
  const onPage = { page: one, explains, redraw };
  pages.run(operations.edit, {
    path: `${one}/edit`,
    input: (form) => ({ body: { ...emptyLabels, ...statedIn(form) } }),
    done: doneOrUnchanged(one, 'saved'),
    ...onPage,
  });
  pages.run(operations.delete, { path: `${one}/delete`, done: `${list}?done=deleted`, ...onPage });
}

/** What is no number stays a text, which the body refuses. */
const numberIn = (text = '') => (text.trim() === '' ? null : (valueInText({ value_type: 'number' }, text) as number));

/** A field that was emptied removes its label. */
const emptyLabels = Object.fromEntries(locales.map((locale) => [labelMember(locale), null]));

function statedIn(form: Parameters) {
  const choices = valueInText({ value_type: 'strings' }, form.choices ?? '') as string[];
  return {
    ...Object.fromEntries(
      locales.flatMap((locale) => {
        const text = form[labelMember(locale)]?.trim();
        return text ? [[labelMember(locale), text]] : [];
      }),
    ),
    max_length: numberIn(form.max_length),
    choices: choices.length === 0 ? null : choices,
    minimum: numberIn(form.minimum),
    maximum: numberIn(form.maximum),
    scope: form.scope?.trim() ?? '',
    editable_by: editors.find((editor) => editor === form.editable_by) ?? 'administrator',
    visible_to: form.is_shown === 'on' ? ('person' as const) : ('administrators' as const),
    sign_up: signUps.find((signUp) => signUp === form.sign_up) ?? 'no',
  };
}
