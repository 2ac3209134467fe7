-- What the owner of a client says to its reviewer about the revision that waits; the log keeps it with each revision.
alter table clients add column note_to_reviewer text;
