import { auditOperations } from '../admin/audit/operations.ts';
import { clientOperations } from '../admin/clients/operations.ts';
import { ownerlessClientOperations } from '../admin/clients/ownerless-operations.ts';
import { keyOperations } from '../admin/keys/operations.ts';
import { serviceCredentialOperations } from '../admin/service-credentials/operations.ts';
import { accessOperations } from '../admin/users/access-operations.ts';
import { userOperations } from '../admin/users/operations.ts';
import { auditCommands } from './audit.ts';
import { clientCommands } from './clients.ts';
import type { Command } from './command.ts';
import { operationCommands } from './operation.ts';
import { commandsOf } from './operation-command.ts';
import { userCommands } from './users.ts';
import { webhookCommands } from './webhooks.ts';

/** Everything that can be typed, in the order in which the help tells it. */
export const commandGroups: readonly (readonly [heading: string, commands: Readonly<Record<string, Command>>])[] = [
  ['People', { ...userCommands, ...commandsOf(userOperations) }],
  ['Access', commandsOf(accessOperations)],
  ['Clients', { ...clientCommands, ...commandsOf([...clientOperations, ...ownerlessClientOperations]) }],
  ['Service credentials', commandsOf(serviceCredentialOperations)],
  ['Webhooks', webhookCommands],
  ['Audit log', { ...auditCommands, ...commandsOf(auditOperations) }],
  ['Operation', { ...operationCommands, ...commandsOf(keyOperations) }],
];

export const commands: ReadonlyMap<string, Command> = new Map(
  commandGroups.flatMap(([, group]) => Object.entries(group)),
);
