/** Values of the expression language. Values of objects are read when they are selected, so that a rule costs nothing
 *  for members that it does not name. Errors are values too: `||` and `&&` absorb them. Pure. */
import { isObject } from '#api/kit/object.ts';
import { parseDuration, parseTimestamp } from './times.ts';
import { type CelType, DYN } from './types.ts';

export class CelError {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

export class CelUint {
  readonly value: bigint;

  constructor(value: bigint) {
    this.value = value;
  }
}

/** In ns. */
export class CelDuration {
  readonly ns: bigint;

  constructor(ns: bigint) {
    this.ns = ns;
  }
}

/** In ns since 1970. */
export class CelTimestamp {
  readonly ns: bigint;

  constructor(ns: bigint) {
    this.ns = ns;
  }
}

/** A type as a value. */
export class CelTypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export class CelList {
  readonly length: number;
  readonly at: (index: number) => CelValue;
  readonly as: 'set' | readonly string[] | undefined;

  constructor(length: number, at: (index: number) => CelValue, as?: 'set' | readonly string[]) {
    this.length = length;
    this.at = at;
    this.as = as;
  }

  static of(items: readonly CelValue[]): CelList {
    return new CelList(items.length, (index) => items[index] ?? null);
  }

  /** All items. */
  *[Symbol.iterator](): Generator<CelValue> {
    for (let index = 0; index < this.length; index += 1) yield this.at(index);
  }
}

/** A map, or an object whose fields are known. */
export interface CelMap {
  readonly isMap: true;
  /** In the form that comprehensions see. */
  readonly keys: () => readonly CelValue[];
  readonly size: number;
  has(key: CelValue): boolean;
  /** `undefined`: absent. */
  get(key: CelValue): CelValue | undefined;
}

export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | CelUint
  | CelDuration
  | CelTimestamp
  | CelTypeValue
  | CelList
  | CelMap
  | CelError;

export const isMap = (value: CelValue): value is CelMap =>
  typeof value === 'object' && value !== null && 'isMap' in value;

export const isError = (value: CelValue): value is CelError => value instanceof CelError;

/** A key of a map as text that differs for different keys. */
export function keyText(key: CelValue): string | undefined {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'bigint') return `i${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  return key instanceof CelUint ? `u${key.value}` : undefined;
}

/** A map of a map literal. */
export function mapOf(entries: ReadonlyMap<string, readonly [CelValue, CelValue]>): CelMap {
  const find = (key: CelValue): readonly [CelValue, CelValue] | undefined => entries.get(keyText(key) ?? '');
  return {
    isMap: true,
    keys: () => [...entries.values()].map(([key]) => key),
    size: entries.size,
    has: (key) => find(key) !== undefined,
    get: (key) => find(key)?.[1],
  };
}

/** Name of the type of a value, as `type()` gives it and messages show it. */
export function typeNameOf(value: CelValue): string {
  if (value === null) return 'null_type';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'string') return 'string';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof CelUint) return 'uint';
  if (value instanceof CelDuration) return 'google.protobuf.Duration';
  if (value instanceof CelTimestamp) return 'google.protobuf.Timestamp';
  if (value instanceof CelTypeValue) return 'type';
  if (value instanceof CelList) return 'list';
  return value instanceof CelError ? 'error' : 'map';
}

type Members = Readonly<Record<string, unknown>>;

/** Reads members by the name that expressions use. */
function objectValue(
  members: Members,
  fieldOf: (key: string) => Field | undefined,
  keys: () => string[],
): CelMap {
  const find = (key: CelValue): Field | undefined => {
    const field = typeof key === 'string' ? fieldOf(key) : undefined;
    return field !== undefined && Object.hasOwn(members, field.name) ? field : undefined;
  };
  return {
    isMap: true,
    keys,
    get size() {
      return keys().length;
    },
    has: (key) => find(key) !== undefined,
    get(key) {
      const field = find(key);
      return field && fromJson(members[field.name], field.type);
    },
  };
}

interface Field {
  readonly name: string;
  readonly type: CelType;
}

function fromText(text: string, type: CelType): CelValue {
  if (type.kind === 'bytes') return Buffer.from(text, 'base64');
  if (type.kind === 'duration') {
    const ns = parseDuration(text);
    return ns === undefined ? new CelError(`invalid duration ${JSON.stringify(text)}`) : new CelDuration(ns);
  }
  if (type.kind !== 'timestamp') return text;
  const ns = parseTimestamp(text);
  return ns === undefined ? new CelError(`invalid timestamp ${JSON.stringify(text)}`) : new CelTimestamp(ns);
}

/** Returns a value of an object in the type of its schema. */
export function fromJson(value: unknown, type: CelType): CelValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return fromText(value, type);
  if (typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return type.kind === 'double' ? Number(value) : value;
  if (typeof value === 'number')
    return type.kind !== 'double' && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    const item = type.kind === 'list' ? type.item : DYN;
    const as = type.kind === 'list' ? type.as : undefined;
    return new CelList(list.length, (index) => fromJson(list[index], item), as);
  }
  if (!isObject(value)) return new CelError('unknown value');
  if (type.kind === 'object') {
    const { fields } = type;
    const present = (): string[] =>
      [...fields].filter(([, { name }]) => Object.hasOwn(value, name)).map(([key]) => key);
    return objectValue(value, (key) => fields.get(key), present);
  }
  const inner = type.kind === 'map' ? type.value : DYN;
  return objectValue(
    value,
    (name) => ({ name, type: inner }),
    () => Object.keys(value),
  );
}
