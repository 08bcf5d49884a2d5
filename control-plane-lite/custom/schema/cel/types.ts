/** Types of the expression language, with the bounds that the schema gives to sizes. Pure. */

export type SimpleKind =
  | 'dyn'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'duration'
  | 'timestamp'
  | 'type';

export interface SimpleType {
  readonly kind: SimpleKind;
  /** Maximum length of a string or of bytes. */
  readonly most?: number;
}

export interface ListType {
  readonly kind: 'list';
  readonly item: CelType;
  readonly most: number;
  /** Items are compared as a set, or by these keys. */
  readonly as?: 'set' | readonly string[];
}

export interface MapType {
  readonly kind: 'map';
  readonly key: CelType;
  readonly value: CelType;
  readonly most: number;
}

export interface ObjectType {
  readonly kind: 'object';
  /** By the name in expressions. */
  readonly fields: ReadonlyMap<string, ObjectField>;
}

export interface ObjectField {
  /** Name in objects. */
  readonly name: string;
  readonly type: CelType;
}

export type CelType = SimpleType | ListType | MapType | ObjectType;

export const simple = (kind: SimpleKind): SimpleType => ({ kind });
export const DYN: SimpleType = simple('dyn');
export const BOOL: SimpleType = simple('bool');
export const INT: SimpleType = simple('int');
export const STRING: SimpleType = simple('string');
export const listOf = (item: CelType, most: number): ListType => ({ kind: 'list', item, most });

/** Largest request: no text or list of an object is longer. */
export const MOST_BYTES: number = 3 * 1024 * 1024;

/** Returns how a value of one type is to be read where the other is expected; `undefined`: never. Sizes add up to the
 *  greater. */
export function join(left: CelType, right: CelType): CelType | undefined {
  if (left.kind === 'dyn' || right.kind === 'dyn') return DYN;
  // Null stands for an absent object, duration and the like.
  if (left.kind === 'null' && isNullable(right)) return right;
  if (right.kind === 'null' && isNullable(left)) return left;
  if (left.kind === 'list' && right.kind === 'list') {
    const item = join(left.item, right.item);
    return item && { ...left, item, most: Math.max(left.most, right.most) };
  }
  if (left.kind === 'map' && right.kind === 'map') {
    const key = join(left.key, right.key);
    const value = join(left.value, right.value);
    return key && value && { ...left, key, value, most: Math.max(left.most, right.most) };
  }
  if (left.kind === 'object' || right.kind === 'object') return left === right ? left : undefined;
  if (left.kind !== right.kind) return undefined;
  return sizeOf(left) >= sizeOf(right) ? left : right;
}

const isNullable = ({ kind }: CelType): boolean =>
  kind === 'object' || kind === 'duration' || kind === 'timestamp' || kind === 'null';

const UNBOUNDED: ReadonlySet<string> = new Set(['dyn', 'string', 'bytes']);

/** Greatest size of a value; 1 for values that have none. */
export function sizeOf(type: CelType): number {
  if ('most' in type && type.most !== undefined) return type.most;
  return UNBOUNDED.has(type.kind) ? MOST_BYTES : 1;
}

export function typeName(type: CelType): string {
  if (type.kind === 'list') return `list(${typeName(type.item)})`;
  return type.kind === 'map' ? `map(${typeName(type.key)}, ${typeName(type.value)})` : type.kind;
}
