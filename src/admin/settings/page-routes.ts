import type { FastifyInstance } from 'fastify';
import { readLog } from '../../audit/read-log.ts';
import { callbackUrl } from '../../authentication/federation/upstream-authorization.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Config } from '../../platform/config.ts';
import { notFound } from '../../platform/errors.ts';
import type { Html } from '../../platform/pages/html.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { findChangeableSetting } from '../../platform/settings/changeable-settings.ts';
import { isFixed, revisionOf } from '../../settings/change-setting.ts';
import { namesIn } from '../audit/names.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { checkOutcome } from '../providers/check-outcome.ts';
import { providerOperations } from '../providers/operations.ts';
import { settingOperations as operations } from './operations.ts';
import { mailOutcome, settingsPath as path, settingsPage } from './page.ts';
import { readSettings, settingIn } from './read-settings.ts';
import { settingPage } from './setting-page.ts';

const changesShown = 10;

const fail = (): never => {
  throw notFound();
};

/** The configuration of the process that answers. Some of it is changed here, the rest where the server is started. */
export async function settingPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'settings:read');
  const draw = (view: View, outcome?: Html | false) =>
    settingsPage(view, {
      groups: readSettings(deps.config),
      mail: deps.mail.mode,
      providers: deps.config.providers.map((one) => ({ ...one, redirect_uri: callbackUrl(deps, one) })),
      outcome,
    });
  pages.show(path, ({ view }) => draw(view));

  const one = `${path}/:name` as const;
  const drawOne = async ({ view, name }: { view: View; name: string }, shown: Shown) => {
    const setting = findChangeableSetting(name) ?? fail();
    const find = (config: Config) => settingIn(config, name);
    const log = view.may('audit:read')
      ? await readLog(deps, { target: name, actions: ['setting.changed'] }, changesShown)
      : undefined;
    return settingPage(
      view,
      {
        ...{ setting, present: find(deps.config), byDefault: find(deps.settings.defaults) },
        stored: deps.settings.stored(name)?.value ?? null,
        ...{ revision: revisionOf(deps, name), isFixed: isFixed(deps, name) },
        changes: log && { events: log.events, names: await namesIn(deps, log.events) },
      },
      shown,
    );
  };
  pages.show(one, (context) => {
    context.authorize('settings:write');
    return drawOne(context, context);
  });
  pages.run(operations.change, {
    page: one,
    input: ({ value = '', revision, reason }) => ({
      body: { value: value.trim() || null, revision: Number(revision), reason: reason?.trim() || undefined },
    }),
    done: doneOrUnchanged(one, 'saved'),
    explains,
    redraw: drawOne,
  });

  const onPage = {
    page: path,
    explains,
    redraw: ({ view }: { view: View }, { problem }: Shown) => draw(view, problem),
  };
  pages.run(operations.testMail, { done: (test, { view }) => draw(view, mailOutcome(view, test)), ...onPage });
  pages.run(providerOperations.check, {
    done: (found, { view }) => draw(view, checkOutcome(view, found)),
    ...onPage,
  });
}
