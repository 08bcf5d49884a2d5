import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseCpuSet } from '../../machine/cpu-set.ts';
import { createTopology } from '../../machine/cpu-topology.ts';
import { CpuStateError, cpuStateError, formatCpuState, parseCpuState } from './cpu-state.ts';

const ENTRIES = { pod: { container1: '4-6', container2: '1-3' } };

describe('a file in upstream’s format', () => {
  // Checksums from upstream's own files.
  test.each([
    [{ policyName: 'none', defaultCpuSet: '', checksum: 1353318690 }, 0],
    [{ policyName: 'none', defaultCpuSet: '4-6', entries: {}, checksum: 354655845 }, 0],
    [{ policyName: 'none', defaultCpuSet: '1-3', entries: ENTRIES, checksum: 3610638499 }, 2],
    [{ policyName: 'none', defaultCpuSet: '1-3', entries: ENTRIES, checksum: 0 }, 2],
  ])('%j is read', (file, count) => {
    const { policy, assignments } = parseCpuState(JSON.stringify(file));
    expect(policy).toBe('none');
    expect(assignments.length).toBe(count);
  });

  test.each([
    ['nothing', '', /not JSON/],
    ['a list', '[]', /is not an object/],
    ['no policy', '{"defaultCpuSet":""}', /lacks the policy/],
    ['entries that are none', '{"policyName":"none","defaultCpuSet":"","entries":{"a":1}}', /entry a/],
    ['another checksum', '{"policyName":"none","defaultCpuSet":"4-6","checksum":1337}', /corrupt/],
    ['no CPUs', '{"policyName":"none","defaultCpuSet":"x","checksum":0}', /is not a CPU list/],
  ])('%s is rejected', (_, text, message) => {
    expect(() => parseCpuState(text)).toThrow(CpuStateError);
    expect(() => parseCpuState(text)).toThrow(message);
  });

  test('round-trips', () => {
    const cpus = fc.uniqueArray(fc.nat(63), { maxLength: 8 }).map((list) => new Set(list));
    const assignment = fc.record({
      podUID: fc.uuid(),
      container: fc.stringMatching(/^[a-z]{1,9}$/),
      cpus,
      init: fc.constant(false),
    });
    fc.assert(
      fc.property(cpus, fc.array(assignment, { maxLength: 5 }), (shared, all) => {
        const assignments = [...new Map(all.map((one) => [one.podUID, one])).values()];
        const read = parseCpuState(formatCpuState({ policy: 'static', shared, assignments }));
        expect(read).toEqual({ policy: 'static', shared, assignments });
      }),
    );
  });
});

describe('a state', () => {
  const topology = createTopology([0, 1, 2, 3].map((cpu) => ({ cpu, core: cpu, socket: 0, numa: 0 })));
  const policy = {
    topology,
    reserved: parseCpuSet('0'),
    options: { fullPcpusOnly: false, distributeAcrossNuma: false },
  };
  test.each([
    ['in which a CPU is assigned that is reserved now', '1-3', '0', /reserved CPUs 0/],
    ['in which a CPU is shared and not', '0-3', '1', /CPUs 1 of container c of pod p/],
    ['of a larger machine', '0,2-4', '1', /covers CPUs 0-4, but the machine has 0-3/],
    ['of a smaller machine', '0,2', '1', /covers CPUs 0-2, but the machine has 0-3/],
  ])('%s is rejected', (_, shared, own, error) => {
    const assignments = [{ podUID: 'p', container: 'c', cpus: parseCpuSet(own), init: false }];
    const found = cpuStateError({ policy: 'static', shared: parseCpuSet(shared), assignments }, policy);
    expect(found).toMatch(error);
  });

  test('of this machine is restored', () => {
    const assignments = [{ podUID: 'p', container: 'c', cpus: parseCpuSet('1'), init: false }];
    const state = { policy: 'static', shared: parseCpuSet('0,2-3'), assignments };
    expect(cpuStateError(state, policy)).toBeUndefined();
  });
});
