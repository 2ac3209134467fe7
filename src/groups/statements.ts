/** What other rooms may put into their changes, or ask of our tables. */
export {
  deleteMember,
  type GroupOfUser,
  groupsOfUser,
  insertMember,
  isAmong,
  type ListedMember,
} from './members.store.ts';
export { findGroups } from './store.ts';
