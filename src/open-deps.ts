import pino, { type Logger } from 'pino';
import { clientDirectory } from './clients/client-directory.ts';
import type { Clock } from './clock.ts';
import type { Config } from './config.ts';
import { migrate } from './db/migrate.ts';
import { openDb } from './db/open.ts';
import type { Deps } from './deps.ts';
import { openLook } from './http/look.ts';
import { openKeyRing } from './keys/key-ring.ts';
import { ensureSigningKeys } from './keys/rotate-keys.ts';
import { freshCache } from './lib/fresh-cache.ts';
import { openOutbox } from './mail/outbox.ts';
import { type PasswordHasher, processHasher } from './passwords/password-hash.ts';
import { readCredential } from './service-credentials/store.ts';
import { loadMasterKey, openVaultFor } from './vault/master-key.ts';

/** `passwords` are hashed by what the process has for it, unless told otherwise. */
type Outside = { clock: Clock; log: Logger; passwords?: PasswordHasher };

/**
 * Opens everything that a use-case needs: store, tables, master key, signing keys. The server and the command line
 * start alike.
 * @throws {ConfigError} {@link StoreUnavailable} {@link MigrationRefused}, each with a sentence for the operator.
 */
export async function openDeps(config: Config, { clock, log, passwords = processHasher }: Outside): Promise<Deps> {
  const masterKey = loadMasterKey(config.masterKey);
  const db = await openDb(config);
  try {
    await migrate(db, Math.floor(clock() / 1000));
    const vault = await openVaultFor(db, masterKey);
    await ensureSigningKeys({ db, clock, vault });
    const keys = await openKeyRing({ db, clock, vault, issuer: config.baseUrl });
    const services = freshCache(clock, (credential_id) => readCredential(db, credential_id));
    const mail = openOutbox({ config, db, clock, log, vault });
    return {
      config,
      db,
      clock,
      log,
      vault,
      keys,
      passwords,
      mail,
      services,
      look: openLook(config),
      clients: clientDirectory({ db, clock }),
    };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Whatever slips into a log line under these names is cut out; nothing should, and then it still does not. */
const secretPaths = ['password', 'client_secret', 'token', 'refresh_token', 'access_token', 'cookie', 'authorization'];

/** JSON lines on standard error, so that standard output stays free for what a command prints. */
export const openLog = (level: Config['logLevel']): Logger =>
  pino(
    {
      level,
      base: undefined,
      redact: { paths: secretPaths.flatMap((name) => [name, `*.${name}`]), remove: true },
      serializers: { req: ({ method, id }) => ({ method, id }), res: () => undefined },
    },
    pino.destination({ dest: 2, sync: true }),
  );
