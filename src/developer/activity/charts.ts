import { dayChart } from '../../platform/pages/chart.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import type { ClientStatistics } from '../../statistics/read-statistics.ts';

/** Sign-ins and failures of one client in the last thirty days, for its owner and for administrators. */
export const clientCharts = (view: View, { signIns, failures }: ClientStatistics): Html => html`<div class="charts">
${dayChart(view, 'admin.overview.sign_ins', signIns)}${dayChart(view, 'developer.failures', failures, 'bad')}</div>`;
