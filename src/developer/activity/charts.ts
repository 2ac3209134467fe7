import { dayChart, periodLinks } from '../../platform/pages/chart.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { periods } from '../../statistics/periods.ts';
import type { ClientStatistics } from '../../statistics/read-statistics.ts';

/** Sign-ins and failures of one client, for its owner and for administrators. @param path of the page that has them. */
export const clientCharts = (
  view: View,
  path: string,
  statistics: ClientStatistics,
): Html => html`<h2>${view.t('chart.last', { days: statistics.days })}</h2>
${periodLinks(view, path, statistics, periods)}<div class="charts">
${dayChart(view, 'admin.overview.sign_ins', statistics.signIns)}${dayChart(view, 'developer.activity.failures', statistics.failures, 'bad')}</div>`;
