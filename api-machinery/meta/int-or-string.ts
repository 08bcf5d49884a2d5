/** Values that are a whole number or a text: ports by number or name, amounts by count or percent. */

export type IntOrString = number | string;

interface NamedPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly protocol?: string;
}

/** The number of a port given by number, by digits in a text, or by the name of a container's port.
 *  `undefined` where no such port exists or the number is not 1 to 65535. */
export function resolvePort(
  port: IntOrString,
  containerPorts: readonly NamedPort[] = [],
): number | undefined {
  const named = containerPorts.find((candidate) => candidate.name === port);
  const number = typeof port === 'number' ? port : (named?.containerPort ?? parseDigits(port));
  if (number === undefined || !Number.isInteger(number)) return undefined;
  return number >= 1 && number <= 65_535 ? number : undefined;
}

const parseDigits = (text: string): number | undefined => (/^\d{1,5}$/.test(text) ? Number(text) : undefined);

/** The number before the sign of `25%`; `undefined` if the text is no percentage. */
export function parsePercent(text: string): number | undefined {
  return /^\d{1,9}%$/.test(text) ? Number(text.slice(0, -1)) : undefined;
}

/** The count that an amount stands for: itself, or its percentage of `total`, rounded as asked.
 *  `undefined` for a text that is no percentage. */
export function resolveAmount(
  amount: IntOrString,
  total: number,
  rounding: 'up' | 'down',
): number | undefined {
  if (typeof amount === 'number') return amount;
  const percent = parsePercent(amount);
  if (percent === undefined) return undefined;
  const exact = (percent * total) / 100;
  return rounding === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
