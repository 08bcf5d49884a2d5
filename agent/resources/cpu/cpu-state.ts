/** State file `cpu_manager_state`: exclusive CPU assignments, in upstream's format. Pure.
 *  Source: upstream's CPU manager checkpoint, release 1.24. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';
import { type CpuSet, CpuSetError, formatCpuSet, parseCpuSet } from '../../machine/cpu-set.ts';
import { fnv32a, mapText } from '../state/checksum.ts';
import { type CpuAssignment, type StaticPolicy, sharedCpus } from './static-policy.ts';

export interface CpuState {
  readonly policy: string;
  /** Shared pool of containers without exclusive CPUs; empty under policy `none`. */
  readonly shared: CpuSet;
  readonly assignments: readonly CpuAssignment[];
}

/** A state that cannot be restored; the message names the defect. */
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

function entriesOf(value: unknown = {}): Entries {
  if (!isObject(value)) throw new CpuStateError('entries is not an object');
  const pods = Object.entries(value).map(([podUID, containers]) => {
    if (!isObject(containers)) throw new CpuStateError(`entry ${podUID} is not an object`);
    const cpus = Object.entries(containers).map(([container, list]) => [container, String(list)] as const);
    return [podUID, Object.fromEntries(cpus)] as const;
  });
  return Object.fromEntries(pods);
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = parseJsonText(text);
    if (isObject(value)) return value;
  } catch (cause) {
    throw new CpuStateError('is not JSON', { cause });
  }
  throw new CpuStateError('is not an object');
}

/** @throws CpuStateError */
export function parseCpuState(text: string): CpuState {
  const { policyName, defaultCpuSet, entries: given, checksum } = parseObject(text);
  if (typeof policyName !== 'string' || typeof defaultCpuSet !== 'string') {
    throw new CpuStateError('lacks the policy or the CPUs');
  }
  const entries = entriesOf(given);
  // Files that predate checksums contain zero.
  if (checksum !== 0 && checksum !== checksumOf(policyName, defaultCpuSet, entries)) {
    throw new CpuStateError('is corrupt: checksum mismatch');
  }
  try {
    return { policy: policyName, shared: parseCpuSet(defaultCpuSet), assignments: assignmentsOf(entries) };
  } catch (thrown) {
    if (thrown instanceof CpuSetError) throw new CpuStateError(thrown.message, { cause: thrown });
    throw thrown;
  }
}

/** The file does not mark init containers: all containers of a pod received their CPUs at its admission. */
const assignmentsOf = (entries: Entries): readonly CpuAssignment[] =>
  Object.entries(entries).flatMap(([podUID, containers]) =>
    Object.entries(containers).map(([container, cpus]) => ({
      podUID,
      container,
      cpus: parseCpuSet(cpus),
      init: false,
    })),
  );

/** Returns why the state does not fit this machine and these settings; undefined if it does. */
export function cpuStateError(state: CpuState, policy: StaticPolicy): string | undefined {
  const { shared, assignments } = state;
  const { topology, reserved } = policy;
  const missing = [...reserved].filter((cpu) => !shared.has(cpu));
  if (missing.length > 0) {
    return `reserved CPUs ${formatCpuSet(new Set(missing))} were allocated before the reservation changed`;
  }
  const both = assignments.find(({ cpus }) => [...cpus].some((cpu) => shared.has(cpu)));
  if (both !== undefined) {
    return `CPUs ${formatCpuSet(both.cpus)} of container ${both.container} of pod ${both.podUID} are also in the shared pool`;
  }
  const known = new Set([...shared, ...assignments.flatMap(({ cpus }) => [...cpus])]);
  const here = formatCpuSet(topology.all);
  if (formatCpuSet(known) !== here) {
    return `covers CPUs ${formatCpuSet(known)}, but the machine has ${here}`;
  }
  if (formatCpuSet(sharedCpus(policy, assignments)) !== formatCpuSet(shared)) return 'is inconsistent';
  return undefined;
}
