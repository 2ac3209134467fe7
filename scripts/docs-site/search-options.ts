import type { Options } from 'minisearch';

/** A section of a page. `id`: its address in the site. `about`: the folder in `docs/`, or the file. */
export type Found = { id: string; title: string; heading: string; text: string; about: string };

/** Decisions and the specification mention nearly everything, and are seldom what is looked for. */
const background = ['decisions', 'spec', 'repository', 'CHANGELOG.md', 'security-requirements.md', 'standards.md'];

/** The same where the index is made and where it is read. */
export const searchOptions: Options<Found> = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading', 'text', 'about'],
  // Whole names (`SIGNET_BASE_URL`, `/readyz`) and their parts.
  tokenize: (text) => [
    ...new Set([...text.split(/[^\p{L}\p{N}_]+/u), ...text.split(/[^\p{L}\p{N}]+/u)].filter(Boolean)),
  ],
  searchOptions: {
    boost: { title: 4, heading: 3 },
    prefix: true,
    fuzzy: (term) => (term.length > 5 ? 0.2 : false),
    combineWith: 'AND',
    boostDocument: (_id, _term, stored) => (background.includes(String(stored?.about)) ? 0.3 : 1),
  },
};
