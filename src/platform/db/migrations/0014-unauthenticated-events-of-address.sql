-- What came from one address, a page at a time and without reading all the others.
create index unauthenticated_events_of_address on unauthenticated_events (address, first_at) where address is not null;
