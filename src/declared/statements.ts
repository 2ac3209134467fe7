/** What other rooms may put into their changes, or ask of our tables. */
export { exportedDeclared } from './store.ts';
