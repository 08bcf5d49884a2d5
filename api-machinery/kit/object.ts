/** Guards for values of unknown type, such as parsed JSON. Pure. */

/** Reports whether the value is an object with members: neither null nor a list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `isObject` for a value whose members the caller may change. */
export const isMutableObject: (value: unknown) => value is Record<string, unknown> = isObject;

/** Returns the value if it is a string; empty for anything else. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
