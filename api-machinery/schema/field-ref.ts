/** Downward API values for environment variables and volumes.
 *  Pure: the caller passes the pod with the status to expose and the node's allocatable amounts.
 *  Source: DownwardAPIVolumeFile, document 3 §2.3. */

import type { Container, EphemeralContainer, Pod } from '../gen/core-v1.ts';
import { roundUpToMilli } from '../meta/quantity.ts';

/** A fieldRef or resourceFieldRef that cannot be resolved for this pod. */
export class FieldRefError extends Error {
  readonly reason = 'InvalidFieldRef';

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'FieldRefError';
  }
}

type FieldReader = (pod: Pod) => string;

const FIELDS: Readonly<Record<string, FieldReader>> = {
  'metadata.name': (pod) => pod.metadata?.name ?? '',
  'metadata.namespace': (pod) => pod.metadata?.namespace ?? '',
  'metadata.uid': (pod) => pod.metadata?.uid ?? '',
  'metadata.labels': (pod) => formatMap(pod.metadata?.labels ?? {}),
  'metadata.annotations': (pod) => formatMap(pod.metadata?.annotations ?? {}),
  'spec.nodeName': (pod) => pod.spec?.nodeName ?? '',
  'spec.serviceAccountName': (pod) => pod.spec?.serviceAccountName ?? '',
  'status.hostIP': (pod) => pod.status?.hostIP ?? '',
  'status.podIP': (pod) => pod.status?.podIP ?? '',
  'status.podIPs': (pod) => (pod.status?.podIPs ?? []).map((entry) => entry.ip ?? '').join(','),
};

const SUBSCRIPT = /^(?<path>metadata\.(?:labels|annotations))\['(?<key>[^']*)'\]$/;

/** Returns the value of a `fieldPath`; a label or annotation that the pod doesn't have is empty.
 *  @throws FieldRefError if the path is not supported. */
export function extractField(pod: Pod, path: string): string {
  const reader = Object.hasOwn(FIELDS, path) ? FIELDS[path] : undefined;
  if (reader !== undefined) return reader(pod);
  const { path: base, key } = SUBSCRIPT.exec(path)?.groups ?? {};
  if (base === undefined || key === undefined) {
    throw new FieldRefError(`fieldPath ${JSON.stringify(path)} is not supported`);
  }
  const map = base === 'metadata.labels' ? pod.metadata?.labels : pod.metadata?.annotations;
  return map !== undefined && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

const RESOURCE =
  /^(?<list>limits|requests)\.(?<name>cpu|memory|ephemeral-storage|hugepages-[0-9]+[A-Za-z]*)$/;

/** Returns the amount of `limits.<name>` or `requests.<name>` in units of `divisor`, rounded up.
 *  A limit that isn't set is the node's allocatable amount, a request that isn't set is 0.
 *  @param divisor a quantity; one unit when absent, empty or 0
 *  @param allocatable amounts by resource name in base units (cores, bytes)
 *  @throws FieldRefError when the resource or the divisor can't be read. */
export function extractResource(
  container: Pick<Container | EphemeralContainer, 'name' | 'resources'>,
  resource: string,
  divisor: string | undefined,
  allocatable: Readonly<Record<string, number>>,
): string {
  const { list, name } = RESOURCE.exec(resource)?.groups ?? {};
  if (list === undefined || name === undefined) {
    throw new FieldRefError(`resource ${JSON.stringify(resource)} is not supported`);
  }
  const amounts = list === 'limits' ? container.resources?.limits : container.resources?.requests;
  const text = amounts !== undefined && Object.hasOwn(amounts, name) ? amounts[name] : undefined;
  let nanos = text === undefined ? 0n : toNanos(text, `${resource} of container ${container.name}`);
  if (nanos === 0n && list === 'limits' && Object.hasOwn(allocatable, name)) {
    nanos = BigInt(Math.round((allocatable[name] ?? 0) * 1000)) * NANOS_PER_MILLI;
  }
  return formatShare(nanos, divisor);
}

const NANOS_PER_MILLI = 1_000_000n;
const NANOS = 1_000_000_000n;

function formatShare(nanos: bigint, divisor: string | undefined): string {
  const unit = divisor === undefined || divisor === '' ? 0n : toNanos(divisor, 'divisor');
  if (unit < 0n) throw new FieldRefError(`divisor ${JSON.stringify(divisor)} is negative`);
  const step = unit === 0n ? NANOS : unit;
  return String((nanos + step - 1n) / step);
}

/** Whole thousandths, because amounts of cpu are exact to 1m and others to 1. */
function toNanos(text: string, what: string): bigint {
  try {
    return roundUpToMilli(text).nanos;
  } catch (cause) {
    throw new FieldRefError(`${what} is not a quantity: ${JSON.stringify(text)}`, { cause });
  }
}

/** One `key="value"` a line, sorted by key, the value quoted so that it stays on its line. */
function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.keys(map)
    .sort((a, b) => (a < b ? -1 : 1))
    .map((key) => `${key}=${quote(map[key] ?? '')}`)
    .join('\n');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
};

function quote(text: string): string {
  const inner = text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (char) => {
    const known = ESCAPES[char];
    if (known !== undefined) return known;
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    if (code < 0x1_00_00) return `\\u${code.toString(16).padStart(4, '0')}`;
    return `\\U${code.toString(16).padStart(8, '0')}`;
  });
  return `"${inner}"`;
}
