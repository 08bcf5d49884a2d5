/** Order of an API group's versions: the preferred one comes first. Pure. */

interface Parsed {
  /** 3: stable, 2: beta, 1: alpha, 0: no version of the usual form. */
  readonly stability: number;
  readonly major: number;
  readonly minor: number;
}

const STABILITY: Readonly<Record<string, number>> = { '': 3, beta: 2, alpha: 1 };

function parseVersion(version: string): Parsed {
  const found = /^v([1-9][0-9]{0,8})(?:(alpha|beta)([1-9][0-9]{0,8}))?$/.exec(version);
  if (found === null) return { stability: 0, major: 0, minor: 0 };
  const [, major = '0', word = '', minor = '0'] = found;
  return { stability: STABILITY[word] ?? 0, major: Number(major), minor: Number(minor) };
}

/** `v2`, `v1`, `v2beta1`, `v1beta2`, `v1alpha1`, then names of no such form by the alphabet. */
export function compareVersions(left: string, right: string): number {
  const a = parseVersion(left);
  const b = parseVersion(right);
  const difference = b.stability - a.stability || b.major - a.major || b.minor - a.minor;
  if (difference !== 0) return difference;
  return left < right ? -1 : left > right ? 1 : 0;
}
