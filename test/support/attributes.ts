import type { Attribute } from '../../src/attributes/attribute.ts';
import type { WantedAttribute } from '../../src/attributes/attribute-rules.ts';
import { defineAttribute } from '../../src/attributes/manage-attributes.ts';
import type { Signet } from './signet.ts';

/** An attribute: a text that administrators change, its person sees and `profile` releases, unless said otherwise. */
export const newAttribute = (
  { deps }: Pick<Signet, 'deps'>,
  name: string,
  wanted: Partial<WantedAttribute> = {},
): Promise<Attribute> =>
  defineAttribute(
    deps,
    { actor: 'cli' },
    {
      name,
      labels: { en: `The ${name}`, de: `Das ${name}` },
      value_type: 'string',
      scope: 'profile',
      editable_by: 'administrator',
      is_shown: true,
      sign_up: 'no',
      ...wanted,
    },
  );
