import { clientsIn } from '../imports/clients/foreign-client.ts';
import {
  clientAdapters,
  clientProducts,
  type ImportedClient,
  importClients,
  maxClients,
} from '../imports/clients/import-clients.ts';
import { invalidRequest } from '../platform/errors.ts';
import { refusalText, shownOnce } from '../platform/report.ts';
import { command } from './command.ts';
import { readOperand } from './read-operand.ts';

/** Bytes. A client has a few thousand. */
const largestFile = 100_000_000;

export const importClientsCommand = {
  'clients import': command({
    summary:
      'Import clients from the export of another product, with the client_id and secret that they have there. What cannot be is listed with the way out. Exits with 1 if a client was refused.',
    operands: { file: { value: 'file' } },
    options: {
      from: { value: 'product', oneOf: clientProducts, help: 'whose export the file is', required: true },
      approve: { help: 'approve them immediately; without it they wait for a review' },
      'dry-run': { help: 'say what would be imported, and change nothing' },
    },
    async run(deps, { file, from, approve, ...given }) {
      const dryRun = given['dry-run'];
      const clients = await clientsOf(file, from);
      const options = { caller: { actor: 'cli' }, approve, dryRun } as const;
      const { done, stoppedBy } = await importClients(deps, clients, options);
      const left = clients.length - done.length;
      const stop = stoppedBy && `${refusalText(stoppedBy)}\nThe import stopped before ${left} of them: start it again.`;
      const error = stoppedBy && { error: stoppedBy.code, error_description: stoppedBy.message };
      return {
        json: { dry_run: dryRun, clients: done, ...(error && { left, ...error }) },
        text: [describe(done, dryRun), ...(stop ? [stop] : [])].join('\n\n'),
        failed: stoppedBy !== undefined || done.some(({ outcome }) => outcome === 'refused'),
      };
    },
  }),
};

async function clientsOf(file: string, product: (typeof clientProducts)[number]) {
  const content = await readOperand(file, largestFile, 'The file is larger than 100 MB, which no list of clients is.');
  let document: unknown;
  try {
    document = JSON.parse(content.toString('utf8'));
  } catch {
    throw invalidRequest('The file is not JSON. Nothing was changed.');
  }
  const clients = clientsIn(document, clientAdapters[product]);
  if (clients === undefined)
    throw invalidRequest(`The file has no clients as ${product} exports them. Nothing was changed.`);
  if (clients.length > maxClients)
    throw invalidRequest(`The file has more than ${maxClients} clients. Nothing was changed.`);
  return clients;
}

function describe(clients: readonly ImportedClient[], dryRun: boolean): string {
  const lines = clients.flatMap(({ client_id, name, outcome, notes, client_secret }) => [
    `${outcome.padEnd(9)}  ${client_id}  ${JSON.stringify(name)}`,
    ...notes.map((note) => `           ${note}`),
    ...(client_secret === undefined ? [] : [shownOnce({ client_secret }).replace(/^/gm, '           ')]),
  ]);
  const count = (of: ImportedClient['outcome']) => clients.filter(({ outcome }) => outcome === of).length;
  const imported = count('imported') + count('approved');
  const sum = `${imported} ${dryRun ? 'would be imported' : 'imported'}, ${count('unchanged')} unchanged, ${count('refused')} refused.`;
  return [...lines, '', sum].join('\n');
}
