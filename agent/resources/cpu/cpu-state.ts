/** The file `cpu_manager_state`: who has which processors for itself, in the field's form. Pure.
 *  Source: upstream's CPU manager checkpoint, release 1.24. */
import { parseJsonText } from '#api/codec/json-text.ts';
import { fnv32a, mapText } from '../state/checksum.ts';
import { type CpuSet, CpuSetError, formatCpuSet, parseCpuSet } from './cpu-set.ts';
import { type CpuAssignment, type StaticPolicy, sharedCpus } from './static-policy.ts';

export const CPU_STATE_FILE = 'cpu_manager_state';

export interface CpuState {
  readonly policy: string;
  /** What containers without processors of their own run on; empty where no policy says so. */
  readonly shared: CpuSet;
  readonly assignments: readonly CpuAssignment[];
}

/** A state that can't be taken up: what is wrong with it, in words. */
export class CpuStateError extends Error {
  override readonly name = 'CpuStateError';
}

type Entries = Readonly<Record<string, Readonly<Record<string, string>>>>;

function checksumOf(policy: string, shared: string, entries: Entries): number {
  const pods = Object.fromEntries(
    Object.entries(entries).map(([podUID, containers]) => [podUID, mapText(containers)]),
  );
  return fnv32a(
    `(*state.CPUManagerCheckpoint){PolicyName:(string)${policy} DefaultCPUSet:(string)${shared} ` +
      `Entries:(map[string]map[string]string)${mapText(pods)} Checksum:(checksum.Checksum)0}`,
  );
}

export function formatCpuState({ policy, shared, assignments }: CpuState): string {
  const entries: Record<string, Record<string, string>> = {};
  for (const { podUID, container, cpus } of assignments) {
    entries[podUID] = { ...entries[podUID], [container]: formatCpuSet(cpus) };
  }
  const defaultCpuSet = formatCpuSet(shared);
  return JSON.stringify({
    policyName: policy,
    defaultCpuSet,
    ...(assignments.length === 0 ? {} : { entries }),
    checksum: checksumOf(policy, defaultCpuSet, entries),
  });
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function entriesOf(value: unknown = {}): Entries {
  if (!isRecord(value)) throw new CpuStateError('entries are no object');
  const pods = Object.entries(value).map(([podUID, containers]) => {
    if (!isRecord(containers)) throw new CpuStateError(`entry ${podUID} is no object`);
    const cpus = Object.entries(containers).map(([container, list]) => [container, String(list)] as const);
    return [podUID, Object.fromEntries(cpus)] as const;
  });
  return Object.fromEntries(pods);
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJsonText(text);
    if (isRecord(value)) return value;
  } catch (cause) {
    throw new CpuStateError('is not JSON', { cause });
  }
  throw new CpuStateError('is no object');
}

/** @throws CpuStateError */
export function parseCpuState(text: string): CpuState {
  const { policyName, defaultCpuSet, entries: given, checksum } = parseObject(text);
  if (typeof policyName !== 'string' || typeof defaultCpuSet !== 'string') {
    throw new CpuStateError('names no policy or no processors');
  }
  const entries = entriesOf(given);
  // Zero is that of files from before there were checksums.
  if (checksum !== 0 && checksum !== checksumOf(policyName, defaultCpuSet, entries)) {
    throw new CpuStateError('is corrupt: the checksum does not fit');
  }
  try {
    return { policy: policyName, shared: parseCpuSet(defaultCpuSet), assignments: assignmentsOf(entries) };
  } catch (thrown) {
    if (thrown instanceof CpuSetError) throw new CpuStateError(thrown.message, { cause: thrown });
    throw thrown;
  }
}

/** Whose init containers they were is not told: all containers of a pod have got theirs when it was admitted. */
const assignmentsOf = (entries: Entries): readonly CpuAssignment[] =>
  Object.entries(entries).flatMap(([podUID, containers]) =>
    Object.entries(containers).map(([container, cpus]) => ({
      podUID,
      container,
      cpus: parseCpuSet(cpus),
      init: false,
    })),
  );

/** Why the state is not one of this machine with these settings; undefined if it is. */
export function cpuStateFault(state: CpuState, policy: StaticPolicy): string | undefined {
  const { shared, assignments } = state;
  const { topology, reserved } = policy;
  const missing = [...reserved].filter((cpu) => !shared.has(cpu));
  if (missing.length > 0) {
    return `reserved processors ${formatCpuSet(new Set(missing))} were given away when others were reserved`;
  }
  const both = assignments.find(({ cpus }) => [...cpus].some((cpu) => shared.has(cpu)));
  if (both !== undefined) {
    return `processors ${formatCpuSet(both.cpus)} of container ${both.container} of pod ${both.podUID} are shared as well`;
  }
  const known = new Set([...shared, ...assignments.flatMap(({ cpus }) => [...cpus])]);
  const here = formatCpuSet(topology.all);
  if (formatCpuSet(known) !== here) {
    return `is of processors ${formatCpuSet(known)} and the machine has ${here}`;
  }
  if (formatCpuSet(sharedCpus(policy, assignments)) !== formatCpuSet(shared)) return 'contradicts itself';
  return undefined;
}
