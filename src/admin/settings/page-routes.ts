import type { FastifyInstance } from 'fastify';
import { callbackUrl } from '../../authentication/federation/upstream-authorization.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { checkOutcome } from '../providers/check-outcome.ts';
import { providerOperations } from '../providers/operations.ts';
import { settingOperations as operations } from './operations.ts';
import { mailOutcome, settingsPath as path, settingsPage } from './page.ts';
import { readSettings } from './read-settings.ts';

/** The configuration of the process that answers. It is changed where the server is started. */
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
