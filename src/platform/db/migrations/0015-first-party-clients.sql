-- Whether the client is first-party: registered by the operator on the command line, so it never had an owner. It
-- replaces of_house. That column stays in this version, because nodes of the previous version still read it during a
-- rolling upgrade; the next version drops it. Copying once is enough: only the command line registers first-party
-- clients, and a command of the previous version refuses to run on this schema. To a node of the previous version a
-- first-party client that is registered during the upgrade looks like one whose owner is gone, which has fewer rights.
alter table clients add column is_first_party bigint not null default 0;
update clients set is_first_party = 1 where of_house = 1;
