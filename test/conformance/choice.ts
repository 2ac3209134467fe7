/** By which main.ts tells all.ts what to run: values by lines. */
export const variables = {
  suite: 'CONFORMANCE_SUITE',
  ca: 'CONFORMANCE_SUITE_CA',
  runs: 'CONFORMANCE_RUNS',
  modules: 'CONFORMANCE_MODULES',
};
