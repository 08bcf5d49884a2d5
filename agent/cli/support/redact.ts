/** Removes from reports what may be secret. Works with a list of harmless places, not of secret ones: free text that
 *  users write into manifests and settings is replaced. Pure. */
import { isObject } from '#api/kit/object.ts';

export const REDACTED = '(redacted)';

/** Members whose text is free, or whose values are: they may contain anything. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  'annotations',
  'args',
  'badValue',
  'command',
  'data',
  'binaryData',
  'stringData',
  'env',
  'httpHeaders',
  'httpGet',
  'exec',
  'host',
  'password',
  'secret',
  'token',
  'user',
  'volumeAttributes',
  'options',
  'mountOptions',
]);
const SECRET_NAME = /(?:auth|cookie|credential|header|key|pass|private|secret|token|url)/i;
/** `https://user:password@host/path?token=…`, PEM blocks, and long random texts. */
const SECRET_TEXTS: readonly RegExp[] = [
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"']{1,2000}/gi,
  /-----BEGIN [A-Z ]{1,40}-----[^-]{0,20000}/g,
  /\b(?:bearer|basic) [\w.~+/=-]{1,4000}/gi,
  /\b(?:password|passwd|token|secret|apikey|api_key)\b["']?\s{0,5}[:=]\s{0,5}\S{1,1000}/gi,
];

/** Returns the value with redacted members and texts. */
export function createRedactor(): (value: unknown) => unknown {
  const redact = (value: unknown, name: string): unknown => {
    if (typeof value === 'string') return isSecretName(name) ? REDACTED : redactText(value);
    if (Array.isArray(value))
      return SECRET_MEMBERS.has(name) ? REDACTED : value.map((item) => redact(item, name));
    if (!isObject(value)) return value;
    if (SECRET_MEMBERS.has(name)) return REDACTED;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redact(member, key)]));
  };
  return (value) => redact(value, '');
}

const isSecretName = (name: string): boolean => SECRET_MEMBERS.has(name) || SECRET_NAME.test(name);

export const redactText = (text: string): string =>
  SECRET_TEXTS.reduce((left, pattern) => left.replaceAll(pattern, REDACTED), text);
