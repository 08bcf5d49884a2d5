/** Test values with `..` in one of their strings. */

export const ESCAPES: readonly string[] = [
  '../../../../escape',
  'x/../../../../../escape',
  '/x/../../escape',
];

/** Returns the paths of all strings in a value. */
export function textsIn(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') return [path];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, `${path}.${key}`));
}

/** Returns a copy with another string at the path. */
export function replaced(value: unknown, [key = '', ...rest]: readonly string[], text: string): unknown {
  if (Array.isArray(value))
    return value.map((inner: unknown, index) =>
      index === Number(key) ? (rest.length === 0 ? text : replaced(inner, rest, text)) : inner,
    );
  if (typeof value !== 'object' || value === null) return value;
  const inner: unknown = Object.entries(value).find(([name]) => name === key)?.[1];
  return { ...value, [key]: rest.length === 0 ? text : replaced(inner, rest, text) };
}
