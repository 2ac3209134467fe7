-- The act that is about to take or give up a claim: no other one settles it as its own. Null: it is held, or of the version before.
alter table claims add column act text;
