/** What other rooms may put into their changes. */
export { exportedSettings, keepSetting } from './store.ts';
