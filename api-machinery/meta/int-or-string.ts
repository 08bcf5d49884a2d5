/** Values that are an integer or a string: ports by number or name, amounts by count or percentage. */

export type IntOrString = number | string;

interface NamedPort {
  readonly name?: string;
  readonly containerPort: number;
  readonly protocol?: string;
}

/** Returns the number of a port given by number, by digits in a string, or by the name of a container's port.
 *  `undefined` if the port does not exist or its number is not 1 to 65535. */
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

/** Returns the number in `25%`; `undefined` if the text is not a percentage. */
export function parsePercent(text: string): number | undefined {
  return /^\d{1,9}%$/.test(text) ? Number(text.slice(0, -1)) : undefined;
}

/** Returns the count for an amount: itself, or its percentage of `total`, rounded as requested.
 *  `undefined` for a text that is not a percentage. */
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
