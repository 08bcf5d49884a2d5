/** Equality and order of values. Pure; `charge` counts the work. */
import {
  CelDuration,
  CelError,
  CelList,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isError,
  isMap,
  keyText,
} from './values.ts';

export type Charge = (cost: number) => void;

const OVERLOAD = new CelError('no such overload');

/** Characters are counted as tenths. */
export const textCost = (size: number): number => Math.ceil(size / 10);

function scalarOf(value: CelValue): string | number | bigint | boolean | null | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint' || typeof value === 'number') return value;
  if (value instanceof CelUint) return value.value;
  if (value instanceof CelDuration || value instanceof CelTimestamp) return value.ns;
  return value instanceof CelTypeValue ? value.name : undefined;
}

const groupOf = (value: CelValue): string => {
  if (value instanceof CelUint) return 'uint';
  if (value instanceof CelDuration) return 'duration';
  if (value instanceof CelTimestamp) return 'timestamp';
  if (value instanceof CelTypeValue) return 'type';
  return value === null ? 'null' : typeof value;
};

/** Text by which items of a set or list map are found; undefined for others. */
function identityOf(item: CelValue, as: 'set' | readonly string[]): string | undefined {
  if (as === 'set') return keyText(item);
  if (!isMap(item)) return undefined;
  return JSON.stringify(as.map((key) => keyText(item.get(key) ?? null) ?? ''));
}

function equalLists(left: CelList, right: CelList, charge: Charge): boolean {
  if (left.length !== right.length) return false;
  const { as } = left;
  if (as === undefined) {
    for (let index = 0; index < left.length; index += 1)
      if (!equals(left.at(index), right.at(index), charge)) return false;
    return true;
  }
  const others = new Map([...right].map((item) => [identityOf(item, as), item]));
  for (const item of left) {
    const other = others.get(identityOf(item, as));
    if (other === undefined || !equals(item, other, charge)) return false;
  }
  return true;
}

/** Values of different types differ. */
export function equals(left: CelValue, right: CelValue, charge: Charge): boolean {
  charge(1);
  if (typeof left === 'string' && typeof right === 'string') {
    charge(textCost(Math.min(left.length, right.length)));
    return left === right;
  }
  if (left instanceof CelList) return right instanceof CelList && equalLists(left, right, charge);
  if (left instanceof Uint8Array)
    return right instanceof Uint8Array && Buffer.compare(Buffer.from(left), Buffer.from(right)) === 0;
  if (isMap(left)) {
    if (!isMap(right) || left.size !== right.size) return false;
    return left.keys().every((key) => {
      const [one, other] = [left.get(key), right.get(key)];
      return one !== undefined && other !== undefined && equals(one, other, charge);
    });
  }
  return groupOf(left) === groupOf(right) && scalarOf(left) === scalarOf(right);
}

/** Negative, 0, positive; NaN: neither. */
export function compare(left: CelValue, right: CelValue, charge: Charge): number | CelError {
  if (isError(left)) return left;
  if (isError(right)) return right;
  if (left instanceof Uint8Array && right instanceof Uint8Array)
    return Buffer.compare(Buffer.from(left), Buffer.from(right));
  const [a, b] = [scalarOf(left), scalarOf(right)];
  const isOrdered = groupOf(left) === groupOf(right) && a !== undefined && b !== undefined;
  if (!isOrdered || a === null || b === null || left instanceof CelTypeValue) return OVERLOAD;
  if (typeof a === 'string' && typeof b === 'string') {
    charge(textCost(Math.min(a.length, b.length)));
    return Buffer.compare(Buffer.from(a), Buffer.from(b));
  }
  if (a < b) return -1;
  if (a > b) return 1;
  return a === b ? 0 : Number.NaN;
}

/** Joins two lists; sets and list maps take over items of the right list by their identity. */
export function concat(left: CelList, right: CelList, charge: Charge): CelList {
  charge(left.length + right.length);
  const { as } = left;
  if (as === undefined) {
    const at = (index: number): CelValue =>
      index < left.length ? left.at(index) : right.at(index - left.length);
    return new CelList(left.length + right.length, at);
  }
  const items = new Map<string | undefined, CelValue>();
  for (const item of [...left, ...right]) items.set(identityOf(item, as), item);
  const joined = [...items.values()];
  return new CelList(joined.length, (index) => joined[index] ?? null, as);
}
