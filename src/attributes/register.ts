import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { ttlCache } from '../platform/ttl-cache.ts';
import { type Attribute, attributeNameKey, isAttributeScope, isReservedClaim, longestValue } from './attribute.ts';
import { readAttributes } from './store.ts';

/** The attributes that there are at one moment. */
export type AttributeRegister = {
  /** In the order of forms. */
  readonly all: readonly Attribute[];
  named(name: string): Attribute | undefined;
  /** Those that a scope releases. */
  ofScope(scope: string): readonly Attribute[];
  /** Scopes that release nothing else. */
  readonly ownScopes: readonly string[];
};

export type Attributes = {
  /** At most a second old, so that one that is deleted is released by no node after that second. @throws {StoreUnavailable} */
  read(): Promise<AttributeRegister>;
  /** As they were when they were last read: for documents that are answered without the store. */
  known(): AttributeRegister;
  /** The next `read` asks the store. */
  forget(): void;
};

export function openAttributes({ db, clock }: { db: Db; clock: Clock }): Attributes {
  let known = attributeRegister([]);
  const cache = ttlCache('attributes', clock, async () => {
    known = attributeRegister(await readAttributes(db));
    return known;
  });
  return { read: () => cache.find('all'), known: () => known, forget: () => cache.forget('all') };
}

/** A claim that has got a meaning in a later version is that claim, whatever an operator has called so before. */
export function attributeRegister(stored: readonly Attribute[]): AttributeRegister {
  const all = stored.filter(({ name }) => !isReservedClaim(name));
  const byName = new Map(all.map((attribute) => [attribute.name, attribute]));
  const byScope = Map.groupBy(all, ({ scope }) => scope);
  return {
    all,
    named: (name) => byName.get(name),
    ofScope: (scope) => byScope.get(scope) ?? [],
    ownScopes: [...byScope.keys()].filter(isAttributeScope),
  };
}

/** With no rules but those of their types: what was a value once is one. */
export const withoutRules = ({ all }: AttributeRegister): AttributeRegister =>
  attributeRegister(
    all.map((attribute) => ({
      ...attribute,
      rules: { max_length: longestValue, minimum: null, maximum: null, choices: null },
    })),
  );

/** As a person or another product writes it. */
export const attributeCalled = ({ all }: AttributeRegister, name: string): Attribute | undefined =>
  all.find((one) => attributeNameKey(one.name) === attributeNameKey(name));
