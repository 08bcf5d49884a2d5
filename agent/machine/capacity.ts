/** Capacity and allocatable of the node. Pure. Source: upstream's node status setters and container manager,
 *  release 1.24. */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityToNumber,
  subtractQuantities,
} from '#api/meta/quantity.ts';
import { countCpus } from './cpu-list.ts';
import type { ExtendedResources } from './extended-resources.ts';
import type { MachineFacts } from './types.ts';

/** Resource names to canonical quantities. */
export type ResourceList = Readonly<Record<string, string>>;

export interface ResourceRules {
  readonly maxPods: number;
  /** 0 is no limit. */
  readonly podsPerCore: number;
  readonly systemReserved: ResourceList;
  readonly platReserved: ResourceList;
  /** `0-1,4`, or empty; takes precedence over CPUs reserved by amount. */
  readonly reservedSystemCPUs: string;
  /** Hard eviction thresholds by signal, as quantity or percentage. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Whether eviction thresholds are excluded from the reservation. */
  readonly ignoreEviction: boolean;
  /** Whether the capacity includes ephemeral storage. */
  readonly localStorage: boolean;
}

const NANOS = 1_000_000_000n;
const HUGE_PAGES_PREFIX = 'hugepages-';
const STORAGE = 'ephemeral-storage';
/** Resources with eviction thresholds. */
const SIGNAL_OF: Readonly<Record<string, string>> = {
  memory: 'memory.available',
  [STORAGE]: 'nodefs.available',
};

const bytes = (amount: number): Quantity => ({ nanos: BigInt(amount) * NANOS, format: 'binarySI' });
const ZERO = parseQuantity('0');
const isHugePages = (name: string): boolean => name.startsWith(HUGE_PAGES_PREFIX);

function podCapacity({ maxPods, podsPerCore }: ResourceRules, cores: number): number {
  return podsPerCore > 0 ? Math.min(maxPods, podsPerCore * cores) : maxPods;
}

/** Returns the capacity. Extended resources set by others are retained, huge pages that disappeared are not.
 *  Devices of a removed plugin stay with zero, which distinguishes them from resources of others. */
export function decideCapacity(
  known: ResourceList,
  facts: Pick<MachineFacts, 'cores' | 'memoryBytes' | 'hugePages' | 'rootBytes'>,
  rules: ResourceRules,
  extended: Pick<ExtendedResources, 'capacity' | 'removed'> = { capacity: {}, removed: [] },
): ResourceList {
  const others = Object.entries(known).filter(([name]) => !isHugePages(name));
  const pages = facts.hugePages.map(
    ({ sizeBytes, count }) =>
      [
        `${HUGE_PAGES_PREFIX}${formatQuantity(bytes(sizeBytes))}`,
        formatQuantity(bytes(sizeBytes * count)),
      ] as const,
  );
  const storage =
    rules.localStorage && facts.rootBytes !== undefined
      ? { [STORAGE]: formatQuantity(bytes(facts.rootBytes)) }
      : {};
  return {
    ...Object.fromEntries(others),
    ...Object.fromEntries(extended.removed.map((name) => [name, '0'])),
    ...extended.capacity,
    cpu: String(facts.cores),
    ...storage,
    ...Object.fromEntries(pages),
    memory: formatQuantity(bytes(facts.memoryBytes)),
    pods: String(podCapacity(rules, facts.cores)),
  };
}

/** Returns the amount reserved by a threshold: a quantity, or a percentage of the capacity. 0% and 100%
 *  disable a threshold. */
function thresholdOf(text: string, capacity: string): Quantity {
  if (!text.endsWith('%')) return parseQuantity(text);
  const percent = Number(text.slice(0, -1));
  if (percent <= 0 || percent >= 100) return ZERO;
  return bytes(Math.floor((quantityToNumber(capacity) * percent) / 100));
}

function reservedOf(name: string, capacity: string, rules: ResourceRules): Quantity {
  const byCpu = name === 'cpu' && rules.reservedSystemCPUs !== '';
  if (byCpu) return parseQuantity(String(countCpus(rules.reservedSystemCPUs)));
  const amounts = [rules.systemReserved[name], rules.platReserved[name]];
  const threshold = rules.ignoreEviction ? undefined : rules.evictionHard[SIGNAL_OF[name] ?? ''];
  const reserved = threshold === undefined ? ZERO : thresholdOf(threshold, capacity);
  return amounts.reduce<Quantity>(
    (sum, amount) => (amount === undefined ? sum : addQuantities(sum, amount)),
    reserved,
  );
}

const atLeastZero = (quantity: Quantity): string =>
  compareQuantities(quantity, '0') < 0 ? '0' : formatQuantity(quantity);

/** Returns allocatable: capacity minus reservations. Huge pages are subtracted from memory. */
export function decideAllocatable(capacity: ResourceList, rules: ResourceRules): ResourceList {
  const allocatable = Object.entries(capacity).map(([name, amount]) => {
    let left = subtractQuantities(amount, reservedOf(name, amount, rules));
    if (name === 'memory') {
      for (const [page, size] of Object.entries(capacity)) {
        if (isHugePages(page)) left = subtractQuantities(left, size);
      }
    }
    return [name, atLeastZero(left)] as const;
  });
  return Object.fromEntries(allocatable);
}
