/** What other rooms may put into their changes, or ask of our tables. */
export { endGroupChange, type GroupChange, groupChanges, membersAfter, moveGroupChange } from './changes.store.ts';
export {
  deleteMember,
  exportedMembers,
  type GroupOfUser,
  groupsOfUser,
  insertMember,
  isAmong,
  type ListedMember,
  membersOfGroups,
} from './members.store.ts';
export {
  countGroups,
  exportedGroups,
  findGroupByKey,
  findGroups,
  findGroupsByKeys,
  groupsByExternalId,
  groupsFrom,
} from './store.ts';
