/** JSON text of values that clients compare byte by byte (the data of ControllerRevisions), as upstream's
 *  encoder writes it: characters with a meaning in HTML are escaped. Pure. */
import { isObject } from '../kit/object.ts';

/** Characters that may need an escape where `JSON.stringify` has none, or another escape. */
const MAY_NEED_ESCAPE = /[<>&\u2028\u2029]|\\[bf]/;
/** A backslash may itself be escaped: only a sequence after an even number of backslashes is an escape. */
const ESCAPED = /\\\\|[<>&\u2028\u2029]|\\[bf]/g;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['\\b', '\\u0008'],
  ['\\f', '\\u000c'],
]);
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

const escapeCharacter = (found: string): string =>
  ESCAPES.get(found) ?? `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;

function textOf(value: string): string {
  const text = JSON.stringify(value);
  if (!MAY_NEED_ESCAPE.test(text)) return text;
  return text.replace(ESCAPED, (found) => (found === '\\\\' ? found : escapeCharacter(found)));
}

/** Compares by the bytes of UTF-8. */
const byBytes = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right));

/** Members are written in their own order. JavaScript does not preserve the order of names like `10`, so all
 *  members of an object with such a name are sorted, as upstream's maps are. */
function namesOf(value: object): readonly string[] {
  const names = Object.keys(value);
  return names.some((name) => INDEX.test(name)) ? names.sort(byBytes) : names;
}

export function embeddedText(value: unknown): string {
  if (typeof value === 'string') return textOf(value);
  if (Array.isArray(value)) return `[${value.map(embeddedText).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? 'null';
  const members = namesOf(value)
    .filter((name) => value[name] !== undefined)
    .map((name) => `${textOf(name)}:${embeddedText(value[name])}`);
  return `{${members.join(',')}}`;
}

/** Returns the value with its members sorted by the bytes of their names, at every level. */
export function sortedMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedMembers);
  if (!isObject(value)) return value;
  const names = Object.keys(value).sort(byBytes);
  return Object.fromEntries(names.map((name) => [name, sortedMembers(value[name])]));
}
