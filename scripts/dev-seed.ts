/**
 * `npm run dev:seed`: fills a development store with what `seeded-world.ts` has, so that each page of `npm run dev` has
 * something to show. Only for an address on loopback, since the passwords are known.
 */
import { findUserByEmail } from '../src/accounts/addresses.store.ts';
import { buildApp } from '../src/app/app.ts';
import { readConfig } from '../src/app/config.ts';
import { closeDeps, openDeps, openLog } from '../src/app/open-deps.ts';
import { isLoopback } from '../src/platform/ip-address.ts';
import { accounts, password, seed } from './seeded-world.ts';

const config = readConfig();
if (!isLoopback(new URL(config.baseUrl).hostname)) {
  console.error(`${config.baseUrl} is not on loopback. Accounts with known passwords are for development only.`);
  process.exit(1);
}
const deps = await openDeps(config, { clock: Date.now, log: openLog('warn') });
try {
  if (await findUserByEmail(deps, accounts.ada.email)) {
    console.log('This store has been seeded before. To start again, stop the server and delete the store.');
  } else {
    const app = await buildApp(deps);
    const { totpSecret } = await seed(deps, app);
    await app.close();
    const rows = Object.values(accounts).map(({ email, for: purpose }) => `  ${email.padEnd(20)}${purpose}`);
    console.log(`Seeded. Sign in at ${config.baseUrl}/signin with the password "${password}":\n${rows.join('\n')}`);
    console.log(`The TOTP secret of ${accounts.grace.email} is ${totpSecret}.`);
  }
} finally {
  await closeDeps(deps);
}
