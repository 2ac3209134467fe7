/** What `npm run test:browsers` runs in each browser. */
import { appCases } from './app-cases.ts';
import { consoleCases } from './console-cases.ts';
import { impatienceCases } from './impatience-cases.ts';
import { signInCases } from './sign-in-cases.ts';
import type { Case } from './visit.ts';

export const cases: readonly Case[] = [...signInCases, ...appCases, ...impatienceCases, ...consoleCases];

/** How `main.ts` hands its choices to the file that it runs. */
export const variables = { browsers: 'TEST_BROWSERS', cases: 'TEST_BROWSERS_CASES' } as const;
