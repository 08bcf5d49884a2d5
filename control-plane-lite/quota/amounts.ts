/** Amounts of resources by name. Pure. */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  subtractQuantities,
} from '#api/meta/quantity.ts';

export type Amounts = ReadonlyMap<string, Quantity>;

export const NONE: Quantity = { nanos: 0n, format: 'decimalSI' };

export const countOf = (count: number): Quantity => ({
  nanos: BigInt(count) * 1_000_000_000n,
  format: 'decimalSI',
});

export const readAmounts = (texts: Readonly<Record<string, string>> = {}): Amounts =>
  new Map(Object.entries(texts).map(([name, text]) => [name, parseQuantity(text)]));

export const writeAmounts = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));

/** Merges two lists; combines amounts that both have. */
function joinAmounts(a: Amounts, b: Amounts, join: (left: Quantity, right: Quantity) => Quantity): Amounts {
  const joined = new Map(a);
  for (const [name, amount] of b) joined.set(name, join(joined.get(name) ?? NONE, amount));
  return joined;
}

export const addAmounts = (a: Amounts, b: Amounts): Amounts => joinAmounts(a, b, addQuantities);

export const largestAmounts = (a: Amounts, b: Amounts): Amounts =>
  joinAmounts(a, b, (left, right) => (compareQuantities(left, right) < 0 ? right : left));

/** Returns the amounts by which `a` exceeds `b`. */
export const increaseOf = (a: Amounts, b: Amounts): Amounts =>
  new Map(
    [...a].flatMap(([name, amount]) => {
      const more = subtractQuantities(amount, b.get(name) ?? NONE);
      return more.nanos > 0n ? [[name, more] as const] : [];
    }),
  );

export const onlyNamed = (amounts: Amounts, names: { has(name: string): boolean }): Amounts =>
  new Map([...amounts].filter(([name]) => names.has(name)));

/** Formats amounts for messages: `cpu=1,pods=2`. */
export const formatAmounts = (amounts: Amounts): string =>
  Object.entries(writeAmounts(amounts))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `${name}=${text}`)
    .join(',');
