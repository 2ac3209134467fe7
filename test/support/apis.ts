import type { Api } from '../../src/apis/api.ts';
import { registerApi } from '../../src/apis/manage-api.ts';
import type { Signet } from './signet.ts';

/**
 * An API with scopes of these names. @param identifier left out: `https://<the first scope before its colon>.test`.
 * @param more whether its tokens carry a status.
 */
export function newApi(
  { deps }: Pick<Signet, 'deps'>,
  names: readonly string[],
  identifier?: string,
  more: { token_status?: Api['token_status'] } = {},
): Promise<Api> {
  const [name = ''] = names[0]?.split(':') ?? [];
  return registerApi(
    deps,
    { actor: 'cli' },
    {
      identifier: identifier ?? `https://${name}.test`,
      name: `The ${name} API`,
      ...more,
      scopes: names.map((scope) => ({ name: scope, descriptions: { en: `Use ${scope}`, de: `${scope} verwenden` } })),
    },
  );
}
