/** What other rooms may put into their changes. */
export { keepSetting } from './store.ts';
