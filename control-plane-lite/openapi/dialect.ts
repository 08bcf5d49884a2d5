/** Differences between the schemas of OpenAPI 2 and OpenAPI 3. Pure. */

export type SchemaObject = Readonly<Record<string, unknown>>;

export interface Dialect {
  readonly version: 2 | 3;
  /** Returns a reference to a definition with the keywords of this use. */
  ref(name: string, more?: SchemaObject): SchemaObject;
  /** Text, or a whole number. */
  readonly intOrString: SchemaObject;
  readonly quantity: SchemaObject;
}

const isEmpty = (schema: SchemaObject): boolean => Object.keys(schema).length === 0;

export const OPENAPI_2: Dialect = {
  version: 2,
  ref: (name, more = {}) => ({ ...more, $ref: `#/definitions/${name}` }),
  intOrString: { type: 'string', format: 'int-or-string' },
  quantity: { type: 'string' },
};

export const OPENAPI_3: Dialect = {
  version: 3,
  // OpenAPI 3.0 ignores the siblings of a reference.
  ref(name, more = {}) {
    const reference = { $ref: `#/components/schemas/${name}` };
    return isEmpty(more) ? reference : { ...more, allOf: [reference] };
  },
  intOrString: { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
  quantity: { oneOf: [{ type: 'string' }, { type: 'number' }] },
};
