/** What other rooms may ask of our tables. */
export { exportedAttributes, findAttributes } from './store.ts';
