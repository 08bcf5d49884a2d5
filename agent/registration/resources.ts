/** What the node has, and what of it pods may use. Pure. Source: upstream's node status setters and container
 *  manager, release 1.24. */
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityToNumber,
  subtractQuantities,
} from '#api/meta/quantity.ts';
import type { ExtendedResources } from '../resources/contract.ts';
import { countCpus } from './machine/cpu-list.ts';
import type { MachineFacts } from './machine/types.ts';

/** Resource names to canonical quantities. */
export type ResourceList = Readonly<Record<string, string>>;

export interface ResourceRules {
  readonly maxPods: number;
  /** 0 is no limit. */
  readonly podsPerCore: number;
  readonly systemReserved: ResourceList;
  readonly platReserved: ResourceList;
  /** `0-1,4`, or empty; goes before processors reserved by amount. */
  readonly reservedSystemCPUs: string;
  /** Hard eviction thresholds by signal, as quantity or percentage. */
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Whether eviction thresholds stay out of what is reserved. */
  readonly ignoreEviction: boolean;
  /** Whether the file system of the root directory is told of. */
  readonly localStorage: boolean;
}

const NANOS = 1_000_000_000n;
const HUGE_PAGES_PREFIX = 'hugepages-';
const STORAGE = 'ephemeral-storage';
/** Resources that eviction keeps a part of free. */
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

/** What the node has. Resources that others announced on the node are kept, huge pages that it lost are not. Devices
 *  whose plugin is gone stay with none, which tells them from what others announce. */
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

/** What a threshold keeps free: a quantity, or a share of what there is. 0% and 100% switch a threshold off. */
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
  const kept = threshold === undefined ? ZERO : thresholdOf(threshold, capacity);
  return amounts.reduce<Quantity>(
    (sum, amount) => (amount === undefined ? sum : addQuantities(sum, amount)),
    kept,
  );
}

const atLeastZero = (quantity: Quantity): string =>
  compareQuantities(quantity, '0') < 0 ? '0' : formatQuantity(quantity);

/** What pods may use: what there is without what is reserved. Huge pages are no memory for others. */
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
