/** String formats of schemas: those of upstream's servers; unknown formats are ignored. Every format is
 *  checked in linear time on strings of limited length. Pure. Source: OpenAPI formats as upstream knows
 *  them. */
import { isIPv4, isIPv6 } from 'node:net';
import { parseIpRange } from '#api/meta/ip.ts';

type IsForm = (text: string) => boolean;

/** No value of any form is longer, but for those of bytes and URIs. */
const LONGEST = 512;

const matching =
  (expression: RegExp): IsForm =>
  (text) =>
    text.length <= LONGEST && expression.test(text);

const HOST_LABEL = /^(?!-)[A-Za-z0-9\p{L}\p{N}_-]{1,63}(?<!-)$/u;

function isHostname(text: string): boolean {
  if (text.length === 0 || text.length > 255) return false;
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  return name.split('.').every((label) => HOST_LABEL.test(label));
}

/** `local@domain`; display names are none of an address here. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at <= 0 || at > 64 || text.length > LONGEST) return false;
  return /^[^\s"(),:;<>@[\\\]]+$/.test(text.slice(0, at)) && isHostname(text.slice(at + 1));
}

function isUri(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/.test(text) || (text.startsWith('/') && !/\s/.test(text));
}

function isDate(text: string): boolean {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (found === null) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d{1,18})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/;

function isDateTime(text: string): boolean {
  const found = text.length <= 64 ? DATE_TIME.exec(text) : null;
  return found?.[1] !== undefined && isDate(found[1]);
}

const DURATION_UNIT =
  /^(?:ns|us|µs|μs|ms|s|m|h|d|w|nanos?|nanoseconds?|micros?|microseconds?|millis?|milliseconds?|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|wks?|weeks?)$/;

/** `1h30m`, `90 s`, `3 days`. */
function isDuration(text: string): boolean {
  if (text === '' || text.length > 64) return false;
  const parts = [...text.trim().matchAll(/[+-]?(\d+(?:\.\d*)?|\.\d+)\s*([a-zµμ]*)\s*/gy)];
  const whole = parts.reduce((length, [part]) => length + part.length, 0) === text.trim().length;
  if (!whole || parts.length === 0) return false;
  return text.trim() === '0' || parts.every(([, , unit = '']) => DURATION_UNIT.test(unit));
}

function checksum(digits: string, weights: readonly number[], modulus: number): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = digits[at] === 'X' ? 10 : Number(digits[at]);
    sum += digit * (weights[at % weights.length] ?? 1);
  }
  return sum % modulus === 0;
}

const withoutGaps = (text: string): string => text.replaceAll(/[\s-]/g, '');
const isIsbn10: IsForm = (text) => {
  const digits = withoutGaps(text);
  return /^\d{9}[\dX]$/.test(digits) && checksum(digits, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 11);
};
const isIsbn13: IsForm = (text) => {
  const digits = withoutGaps(text);
  return /^\d{13}$/.test(digits) && checksum(digits, [1, 3], 10);
};

function isCreditCard(text: string): boolean {
  const digits = withoutGaps(text);
  if (!/^\d{12,19}$/.test(digits)) return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = Number(digits[digits.length - 1 - at]);
    const doubled = at % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

const uuid = (version: string, variant: string): IsForm =>
  matching(
    new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i'),
  );

const RGB = String.raw`\s*(25[0-5]|2[0-4]\d|1?\d?\d)\s*`;

const FORMATS: ReadonlyMap<string, IsForm> = new Map<string, IsForm>([
  ['bsonobjectid', matching(/^[0-9a-f]{24}$/i)],
  ['uri', isUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text) => isIPv4(text)],
  ['ipv6', (text) => isIPv6(text)],
  ['cidr', (text) => parseIpRange(text) !== undefined],
  [
    'mac',
    matching(
      /^(?:(?:[0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\1){4,6}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2,3}[0-9a-f]{4})$/i,
    ),
  ],
  ['uuid', uuid('[0-9a-f]', '[0-9a-f]')],
  ['uuid3', uuid('3', '[0-9a-f]')],
  ['uuid4', uuid('4', '[89ab]')],
  ['uuid5', uuid('5', '[89ab]')],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', matching(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', matching(/^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i)],
  ['rgbcolor', matching(new RegExp(`^rgb\\(${RGB},${RGB},${RGB}\\)$`))],
  ['byte', (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
]);

/** Returns the validator of a format; `undefined` for formats that are not validated. Dashes in the name are ignored:
 *  `date-time` is `datetime`. */
export function formatOf(name: string | undefined): IsForm | undefined {
  return name === undefined ? undefined : FORMATS.get(name.replaceAll('-', ''));
}
