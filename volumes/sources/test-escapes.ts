/** For tests: values with `..` in one of their texts. */

export const ESCAPES: readonly string[] = [
  '../../../../escape',
  'x/../../../../../escape',
  '/x/../../escape',
];

/** Every text in a value, by its path. */
export function textsIn(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, `${path}.${key}`));
}

/** A copy with another text at the path. */
export function replaced(value: unknown, [key = '', ...rest]: readonly string[], text: string): unknown {
  if (Array.isArray(value))
    return value.map((inner: unknown, index) =>
      index === Number(key) ? (rest.length === 0 ? text : replaced(inner, rest, text)) : inner,
    );
  if (typeof value !== 'object' || value === null) return value;
  const inner: unknown = Object.entries(value).find(([name]) => name === key)?.[1];
  return { ...value, [key]: rest.length === 0 ? text : replaced(inner, rest, text) };
}
