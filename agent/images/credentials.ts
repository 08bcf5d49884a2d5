/** Registry credentials, and matching them with images. Pure.
 *  Matching is that of upstream's registry configuration: host globs label by label, equal ports, path
 *  prefixes. */
import { type GlobPart, matchesGlob } from '#api/kit/text/glob.ts';

/** One login to a registry. Never logged, never part of an error. Has no server: matching is done here, and
 *  containerd ignores a login whose server is not spelled as a URL of exactly that host. */
export interface RegistryCredential {
  readonly username: string;
  readonly password: string;
  /** Identity token, exchanged for access tokens instead of a password. */
  readonly identityToken: string;
  /** Bearer token, sent to the registry unchanged. */
  readonly registryToken: string;
}

/** Credentials by registry key: `host[:port][/path]` or a URL, host labels may be globs.
 *  A key may occur more than once. */
export type CredentialTable = readonly (readonly [key: string, credential: RegistryCredential])[];

interface KeyParts {
  readonly labels: readonly string[];
  readonly port: string;
  readonly path: string;
}

/** Credentials of the default registry are stored under its old name. */
const DEFAULT_REGISTRY_KEY = 'index.docker.io';
const DEFAULT_REGISTRY_HOSTS: ReadonlySet<string> = new Set(['docker.io', DEFAULT_REGISTRY_KEY]);

/** Normalizes a registry key without scheme, API version and trailing slash: `https://reg.io/v1/` becomes
 *  `reg.io`. */
export function normalizeRegistryKey(key: string): string {
  const schemeless = key.replace(/^https?:\/\//, '');
  const slash = schemeless.indexOf('/');
  if (slash < 0) return schemeless;
  const path = schemeless.slice(slash).replace(/^\/v[12](?=\/)/, '');
  return schemeless.slice(0, slash) + (path === '/' ? '' : path);
}

function splitKey(key: string): KeyParts {
  const slash = key.indexOf('/');
  const authority = slash < 0 ? key : key.slice(0, slash);
  const match = /^(.*?)(?::(\d+))?$/.exec(authority);
  return {
    labels: (match?.[1] ?? '').split('.'),
    port: match?.[2] ?? '',
    path: slash < 0 ? '' : key.slice(slash),
  };
}

/** Compiles a shell glob of one host label (`*`, `?`, `[a-z]`, `\x`); undefined when it is malformed. */
function parseGlob(glob: string): readonly GlobPart[] | undefined {
  const parts: GlobPart[] = [];
  for (let at = 0; at < glob.length; at += 1) {
    const char = glob.charAt(at);
    if (char === '*') parts.push('any');
    else if (char === '?') parts.push(() => true);
    else if (char === '[') {
      const end = glob.indexOf(']', at + 2);
      const set = end < 0 ? undefined : parseSet(glob.slice(at + 1, end));
      if (set === undefined) return undefined;
      parts.push((character) => set.test(character));
      at = end;
    } else {
      if (char === '\\') at += 1;
      if (at >= glob.length) return undefined;
      const wanted = glob.charAt(at);
      parts.push((character) => character === wanted);
    }
  }
  return parts;
}

function parseSet(inner: string): RegExp | undefined {
  try {
    return new RegExp(`^[${inner.replace(/[\\[]/g, '\\$&')}]$`);
  } catch {
    return undefined; // such as a reversed range
  }
}

/** Labels longer than the limit of names are matched only by a star. */
const LONGEST_LABEL = 253;

function matchesLabel(glob: string, label: string): boolean {
  if (glob === '*' || glob === label) return true;
  if (label.length > LONGEST_LABEL || !/[*?[\\]/.test(glob)) return false;
  const parts = parseGlob(glob);
  return parts !== undefined && matchesGlob(parts, label);
}

/** Returns the error of a match pattern; undefined when it is valid. */
export function matchPatternError(pattern: string): string | undefined {
  if (pattern === '') return 'must not be empty';
  if (/\s/.test(pattern)) return 'must not contain spaces';
  const { labels } = splitKey(normalizeRegistryKey(pattern));
  if (labels.join('') === '') return 'must name a registry host';
  return labels.every((label) => parseGlob(label) !== undefined) ? undefined : 'contains a malformed glob';
}

/** Reports whether a key such as `*.example.com:5000/team` covers `reg.example.com:5000/team/app`. */
export function matchesRegistryKey(key: string, image: string): boolean {
  const pattern = splitKey(key);
  const target = splitKey(image);
  return (
    pattern.port === target.port &&
    pattern.labels.length === target.labels.length &&
    target.path.startsWith(pattern.path) &&
    pattern.labels.every((glob, index) => matchesLabel(glob, target.labels[index] ?? ''))
  );
}

function isDefaultRegistry(image: string): boolean {
  const [host = '', ...rest] = image.split('/');
  if (rest.length === 0) return host !== '';
  return host !== '' && (DEFAULT_REGISTRY_HOSTS.has(host) || !/[.:]/.test(host));
}

function compareKeys(a: string, b: string): number {
  const lengthOfPath = (key: string): number => splitKey(key).path.length;
  const byPath = lengthOfPath(b) - lengthOfPath(a);
  if (byPath !== 0) return byPath;
  return a < b ? 1 : a > b ? -1 : 0;
}

/** Returns the credentials of one table that match a repository such as `quay.io/coreos/etcd`, the longest
 *  path first.
 *  Those of the default registry are the fallback for its images. */
export function selectCredentials(table: CredentialTable, repository: string): readonly RegistryCredential[] {
  const byKey = new Map<string, RegistryCredential[]>();
  for (const [rawKey, credential] of table) {
    const key = normalizeRegistryKey(rawKey);
    byKey.set(key, [...(byKey.get(key) ?? []), credential]);
  }
  const matching = [...byKey.keys()].filter((key) => matchesRegistryKey(key, repository)).sort(compareKeys);
  if (matching.length > 0) return matching.flatMap((key) => byKey.get(key) ?? []);
  return isDefaultRegistry(repository) ? (byKey.get(DEFAULT_REGISTRY_KEY) ?? []) : [];
}
