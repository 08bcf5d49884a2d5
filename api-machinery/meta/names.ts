/** Validation of names, keys and values. Each function returns every reason why a text is invalid; an empty
 *  list means that it is valid. Reasons are phrases that follow the field's path.
 *  Source: RFC 1123, RFC 1035, RFC 6335; API conventions, document 1. */

const DNS_LABEL_MAX = 63;
const DNS_SUBDOMAIN_MAX = 253;
const CONFIG_KEY_MAX = 253;
const ANNOTATIONS_MAX_BYTES = 256 * 1024;

const LABEL_1123 = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_1035 = /^[a-z](?:[-a-z0-9]*[a-z0-9])?$/;
const QUALIFIED_PART = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const ENV_VAR = /^[-._a-zA-Z][-._a-zA-Z0-9]*$/;
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;
const C_IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_NAME = /^[-A-Za-z0-9]+$/;

const DASH = 0x2d;
const DOT = 0x2e;
const UNDERSCORE = 0x5f;
const [ZERO, NINE] = [0x30, 0x39];
const [UPPER_A, UPPER_Z] = [0x41, 0x5a];
const [LOWER_A, LOWER_Z] = [0x61, 0x7a];

type Reasons = readonly string[];

/** Shared, because it is the most frequent result. */
const NONE: Reasons = [];

function formErrors(text: string, pattern: RegExp, max: number, form: string): Reasons {
  if (text.length > max) return [`must be at most ${max} characters`];
  return pattern.test(text) ? NONE : [form];
}

/** A DNS label: `my-name-1`. */
export function dns1123LabelErrors(text: string): Reasons {
  return formErrors(
    text,
    LABEL_1123,
    DNS_LABEL_MAX,
    "must be lower-case letters, digits or '-', starting and ending with a letter or digit, such as 'my-name' (RFC 1123 label)",
  );
}

/** A DNS subdomain: `example.com`, the form of most object names. */
export function dns1123SubdomainErrors(text: string): Reasons {
  return formErrors(
    text,
    SUBDOMAIN,
    DNS_SUBDOMAIN_MAX,
    "must be lower-case letters, digits, '-' or '.', each part starting and ending with a letter or digit, such as 'example.com' (RFC 1123 subdomain)",
  );
}

/** A DNS label that starts with a letter: the form of service names. */
export function dns1035LabelErrors(text: string): Reasons {
  return formErrors(
    text,
    LABEL_1035,
    DNS_LABEL_MAX,
    "must be lower-case letters, digits or '-', starting with a letter and ending with a letter or digit, such as 'my-name' (RFC 1035 label)",
  );
}

/** A key of labels, annotations and resources: `name` or `example.com/name`. */
export function qualifiedNameErrors(text: string): Reasons {
  // The usual form, without a prefix.
  if (isQualifiedPart(text)) return NONE;
  // With a prefix, as finalizers have.
  const slash = text.indexOf('/');
  if (slash > 0 && text.length <= DNS_LABEL_MAX && isPrefixed(text, slash)) return NONE;
  const parts = text.split('/');
  if (parts.length > 2)
    return ["must be a name with an optional DNS prefix and one '/', such as 'example.com/name'"];
  const [prefix, name] = parts.length === 2 ? parts : [undefined, parts[0]];
  const reasons: string[] = [];
  if (prefix === '') reasons.push('prefix part must not be empty');
  else if (prefix !== undefined)
    reasons.push(...dns1123SubdomainErrors(prefix).map((reason) => `prefix part ${reason}`));
  if (name === undefined || name === '') reasons.push('name part must not be empty');
  else reasons.push(...qualifiedPartErrors(name).map((reason) => `name part ${reason}`));
  return reasons;
}

/** A loop, because an object may have hundreds of thousands of keys: a match takes several times as long. */
function isQualifiedPart(text: string): boolean {
  const last = text.length - 1;
  if (last < 0 || last >= DNS_LABEL_MAX) return false;
  if (!isAlphanumeric(text.charCodeAt(0)) || !isAlphanumeric(text.charCodeAt(last))) return false;
  for (let at = 1; at < last; at += 1) {
    const code = text.charCodeAt(at);
    if (!isAlphanumeric(code) && code !== DASH && code !== DOT && code !== UNDERSCORE) return false;
  }
  return true;
}

const isAlphanumeric = (code: number): boolean =>
  (code >= LOWER_A && code <= LOWER_Z) ||
  (code >= UPPER_A && code <= UPPER_Z) ||
  (code >= ZERO && code <= NINE);

const isPrefixed = (text: string, slash: number): boolean =>
  SUBDOMAIN.test(text.slice(0, slash)) && isQualifiedPart(text.slice(slash + 1));

const qualifiedPartErrors = (text: string): Reasons =>
  formErrors(
    text,
    QUALIFIED_PART,
    DNS_LABEL_MAX,
    "must be letters, digits, '-', '_' or '.', starting and ending with a letter or digit, such as 'MyName' or 'my.name'",
  );

/** A label's value: empty, or up to 63 characters of the same form as a key's name part. */
export function labelValueErrors(text: string): Reasons {
  return text === '' ? NONE : qualifiedPartErrors(text);
}

/** The name of an environment variable. */
export function envVarNameErrors(text: string): Reasons {
  const form = "must be letters, digits, '_', '-' or '.', not starting with a digit, such as 'my.env-name'";
  const reasons = ENV_VAR.test(text) ? [] : [form];
  return [...reasons, ...dotNameErrors(text)];
}

/** An identifier of the C language: `my_name`. */
export function cIdentifierErrors(text: string): Reasons {
  return C_IDENTIFIER.test(text)
    ? []
    : ["must be letters, digits or '_', not starting with a digit, such as 'my_name'"];
}

/** Names that refer to directories when used as file names. */
function dotNameErrors(text: string): Reasons {
  if (text === '.' || text === '..') return [`must not be '${text}'`];
  return text.startsWith('..') ? ["must not start with '..'"] : [];
}

/** The name of a container's port (IANA service name). */
export function portNameErrors(text: string): Reasons {
  const reasons: string[] = [];
  if (text.length > 15) reasons.push('must be at most 15 characters');
  if (!/^[-a-z0-9]+$/.test(text)) reasons.push("must be lower-case letters, digits or '-'");
  if (!/[a-z]/.test(text)) reasons.push('must contain at least one letter');
  if (text.includes('--')) reasons.push("must not contain '--'");
  if (text.startsWith('-') || text.endsWith('-')) reasons.push("must not start or end with '-'");
  return reasons;
}

/** The number of a port. */
export function portNumberErrors(port: number): Reasons {
  return Number.isInteger(port) && port >= 1 && port <= 65_535
    ? []
    : ['must be between 1 and 65535, inclusive'];
}

/** A key of a ConfigMap or Secret, which becomes a file's name. */
export function configMapKeyErrors(text: string): Reasons {
  if (text.length <= CONFIG_KEY_MAX && !text.startsWith('.') && CONFIG_KEY.test(text)) return NONE;
  const reasons: string[] = [];
  if (text.length > CONFIG_KEY_MAX) reasons.push(`must be at most ${CONFIG_KEY_MAX} characters`);
  if (!CONFIG_KEY.test(text)) reasons.push("must be letters, digits, '-', '_' or '.', such as 'key.name'");
  return [...reasons, ...dotNameErrors(text)];
}

/** The name of an HTTP header. */
export function httpHeaderNameErrors(text: string): Reasons {
  return HEADER_NAME.test(text) ? [] : ["must be letters, digits or '-', such as 'X-Header-Name'"];
}

/** A path below some directory: relative, no `..` element. */
export function relativePathErrors(text: string): Reasons {
  if (text.startsWith('/')) return ['must be a relative path'];
  return parentElementErrors(text);
}

/** A path that starts at the root. */
export function absolutePathErrors(text: string): Reasons {
  return text.startsWith('/') ? [] : ['must be an absolute path'];
}

/** Rejects `..` elements in a path. */
export function parentElementErrors(text: string): Reasons {
  return text.split('/').includes('..') ? ["must not contain '..'"] : [];
}

/** A path in a volume's directory: relative, no `..`, and no name starting with `..`, which are reserved
 *  for the atomic writer. */
export function volumeFilePathErrors(text: string): Reasons {
  const reasons = relativePathErrors(text);
  if (reasons.length > 0) return reasons;
  return text.startsWith('..') ? ["must not start with '..'"] : [];
}

/** Total size of an object's annotations. */
export function annotationSizeErrors(annotations: Readonly<Record<string, string>>): Reasons {
  let bytes = 0;
  for (const key in annotations) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? '');
    if (bytes > ANNOTATIONS_MAX_BYTES) break;
  }
  return bytes > ANNOTATIONS_MAX_BYTES ? [`must have at most ${ANNOTATIONS_MAX_BYTES} bytes in total`] : [];
}
