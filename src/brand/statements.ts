/** What other rooms may ask of our tables. */
export { exportedPictures, exportedVersions } from './store.ts';
