export type JsonSchema = {
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly JsonSchema[];
  items?: JsonSchema;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  description?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  default?: unknown;
  example?: unknown;
  format?: string;
  $ref?: string;
};

/** A body of several kinds, such as the request of a token: each by the value that tells it from the others. */
export function variantsOf(schema: JsonSchema): { title?: string; schema: JsonSchema }[] {
  const kinds = (schema.anyOf ?? []).filter(({ properties }) => properties);
  if (kinds.length < 2) return [{ schema }];
  return kinds.map((kind) => ({
    title: String(Object.values(kind.properties ?? {}).find((one) => one.const !== undefined)?.const),
    schema: kind,
  }));
}
