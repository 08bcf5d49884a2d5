/** Violations of LimitRange constraints by pods and claims. Pure. */

import type { LimitRangeItem, PersistentVolumeClaim, Pod } from '#api/gen/core-v1.ts';
import { addQuantities, compareQuantities, formatQuantity, quantityToNumber } from '#api/meta/quantity.ts';

type Amounts = Readonly<Record<string, string>>;

interface Usage {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

const NOTHING: Usage = { requests: {}, limits: {} };

type Check = (resource: string, type: string, enforced: string, usage: Usage) => string | undefined;

const isBelow = (amount: string, enforced: string): boolean => compareQuantities(amount, enforced) < 0;
const isAbove = (amount: string, enforced: string): boolean => compareQuantities(amount, enforced) > 0;

const atLeast: Check = (resource, type, enforced, { requests, limits }) => {
  const rule = `minimum ${resource} usage per ${type} is ${enforced}`;
  const [request, limit] = [requests[resource], limits[resource]];
  if (request === undefined) return `${rule}.  No request is specified`;
  if (isBelow(request, enforced)) return `${rule}, but request is ${request}`;
  return limit !== undefined && isBelow(limit, enforced) ? `${rule}, but limit is ${limit}` : undefined;
};

const atMost: Check = (resource, type, enforced, { requests, limits }) => {
  const rule = `maximum ${resource} usage per ${type} is ${enforced}`;
  const [request, limit] = [requests[resource], limits[resource]];
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (isAbove(limit, enforced)) return `${rule}, but limit is ${limit}`;
  return request !== undefined && isAbove(request, enforced)
    ? `${rule}, but request is ${request}`
    : undefined;
};

/** Checks the requests of claims, which have no limits. */
const asksAtMost: Check = (resource, type, enforced, { requests }) => {
  const rule = `maximum ${resource} usage per ${type} is ${enforced}`;
  const request = requests[resource];
  if (request === undefined) return `${rule}.  No request is specified`;
  return isAbove(request, enforced) ? `${rule}, but request is ${request}` : undefined;
};

const ratio: Check = (resource, type, enforced, { requests, limits }) => {
  const rule = `${resource} max limit to request ratio per ${type} is ${enforced}`;
  const [request, limit] = [
    quantityToNumber(requests[resource] ?? 0),
    quantityToNumber(limits[resource] ?? 0),
  ];
  if (request === 0) return `${rule}, but no request is specified or request is 0`;
  if (limit === 0) return `${rule}, but no limit is specified or limit is 0`;
  const found = limit / request;
  return found > quantityToNumber(enforced)
    ? `${rule}, but provided ratio is ${found.toFixed(6)}`
    : undefined;
};

function errorsOf(
  checks: readonly (readonly [Amounts | undefined, Check])[],
  type: string,
  usage: Usage,
): readonly string[] {
  return checks.flatMap(([amounts, check]) =>
    Object.entries(amounts ?? {}).flatMap(
      ([resource, enforced]) => check(resource, type, enforced, usage) ?? [],
    ),
  );
}

const usageErrors = (
  { type, min, max, maxLimitRequestRatio }: LimitRangeItem,
  usage: Usage,
): readonly string[] =>
  errorsOf(
    [
      [min, atLeast],
      [max, atMost],
      [maxLimitRequestRatio, ratio],
    ],
    type,
    usage,
  );

/** Every amount that one has, as one. */
function combined(all: readonly Amounts[], combine: (left: string, right: string) => string): Amounts {
  const keys = new Set(all.flatMap((amounts) => Object.keys(amounts)));
  const entries = [...keys].flatMap((key) => {
    const values = all.flatMap((amounts) => amounts[key] ?? []);
    const [first, ...rest] = values;
    return first === undefined ? [] : [[key, rest.reduce(combine, first)] as const];
  });
  return Object.fromEntries(entries);
}

const add = (left: string, right: string): string => formatQuantity(addQuantities(left, right));
const greater = (left: string, right: string): string => (isBelow(left, right) ? right : left);

/** Containers run together, init containers one by one before them. */
function podUsage({ spec }: Pod): Usage {
  const all = (spec?.containers ?? []).map(({ resources = {} }) => resources);
  const first = (spec?.initContainers ?? []).map(({ resources = {} }) => resources);
  const amounts = (kind: 'requests' | 'limits'): Amounts => {
    const together = combined(
      all.map((each) => each[kind] ?? {}),
      add,
    );
    return combined([together, ...first.map((each) => each[kind] ?? {})], greater);
  };
  return { requests: amounts('requests'), limits: amounts('limits') };
}

export function podErrors(pod: Pod, limits: readonly LimitRangeItem[]): readonly string[] {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return limits.flatMap((limit) => {
    if (limit.type === 'Pod') return usageErrors(limit, podUsage(pod));
    if (limit.type !== 'Container') return [];
    return containers.flatMap(({ resources }) => usageErrors(limit, { ...NOTHING, ...resources }));
  });
}

export function claimErrors(
  { spec }: PersistentVolumeClaim,
  limits: readonly LimitRangeItem[],
): readonly string[] {
  const usage: Usage = { ...NOTHING, ...spec?.resources };
  return limits.flatMap(({ type, min, max }) =>
    type === 'PersistentVolumeClaim'
      ? errorsOf(
          [
            [min, atLeast],
            [max, asksAtMost],
          ],
          type,
          usage,
        )
      : [],
  );
}
