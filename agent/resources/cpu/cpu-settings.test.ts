import { describe, expect, test } from 'vitest';
import { formatCpuSet } from '../../machine/cpu-set.ts';
import { createTopology } from '../../machine/cpu-topology.ts';
import { type CpuSettingsConfig, cpuManagerPolicy, staticOptions, staticPolicy } from './cpu-settings.ts';

/** Two cores with two threads each. */
const TOPOLOGY = createTopology([0, 1, 2, 3].map((cpu) => ({ cpu, core: cpu % 2, socket: 0, numa: 0 })));

const config = (more: Partial<CpuSettingsConfig> = {}): CpuSettingsConfig => ({
  cpuManagerPolicy: 'static',
  cpuManagerPolicyOptions: {},
  reservedSystemCPUs: '',
  systemReserved: {},
  platReserved: {},
  featureGates: {},
  ...more,
});

test('the gate disables the manager', () => {
  expect(cpuManagerPolicy(config())).toBe('static');
  expect(cpuManagerPolicy(config({ featureGates: { CPUManager: false } }))).toBe('none');
});

describe('reserved are', () => {
  test.each<[string, Partial<CpuSettingsConfig>, string]>([
    ['those that are named', { reservedSystemCPUs: '1, 3', systemReserved: { cpu: '1' } }, '1,3'],
    ['as many as the reservations come to, rounded up', { systemReserved: { cpu: '100m' } }, '0'],
    ['those of both together', { systemReserved: { cpu: '600m' }, platReserved: { cpu: '500m' } }, '0,2'],
  ])('%s', (_, more, cpus) => {
    expect(formatCpuSet(staticPolicy(config(more), TOPOLOGY).reserved)).toBe(cpus);
  });

  test.each<[string, Partial<CpuSettingsConfig>, RegExp]>([
    ['none', { systemReserved: { memory: '1Gi' } }, /static needs reserved CPUs: set --reserved-cpus/],
    ['more than there are', { platReserved: { cpu: '5' } }, /5 CPUs are reserved and the machine has 4/],
    ['those of another machine', { reservedSystemCPUs: '0,7' }, /7 of the reserved .* which has 0-3/],
  ])('rejected: %s', (_, more, message) => {
    expect(() => staticPolicy(config(more), TOPOLOGY)).toThrow(message);
  });
});

describe('options', () => {
  test('are taken', () => {
    const options = { 'full-pcpus-only': 'true', 'distribute-cpus-across-numa': 'false' };
    const featureGates = { CPUManagerPolicyAlphaOptions: true };
    expect(staticOptions(config({ cpuManagerPolicyOptions: options, featureGates }))).toEqual({
      fullPcpusOnly: true,
      distributeAcrossNuma: false,
    });
  });

  test.each<[string, Readonly<Record<string, string>>, Partial<CpuSettingsConfig>, RegExp]>([
    ['unknown', { x: 'true' }, {}, /x is not one of full-pcpus-only/],
    [
      'alpha',
      { 'distribute-cpus-across-numa': 'true' },
      {},
      /needs feature gate CPUManagerPolicyAlphaOptions/,
    ],
    [
      'beta and off',
      { 'full-pcpus-only': 'true' },
      { featureGates: { CPUManagerPolicyBetaOptions: false } },
      /needs feature gate CPUManagerPolicyBetaOptions/,
    ],
    [
      'any, with the gate of all off',
      { 'full-pcpus-only': 'true' },
      { featureGates: { CPUManagerPolicyOptions: false } },
      /CPUManagerPolicyOptions is off/,
    ],
    ['of policy none', { 'full-pcpus-only': 'true' }, { cpuManagerPolicy: 'none' }, /none has no options/],
    ['no boolean', { 'full-pcpus-only': 'yes' }, {}, /must be true or false, not "yes"/],
  ])('are rejected: %s', (_, cpuManagerPolicyOptions, more, message) => {
    expect(() => staticOptions(config({ cpuManagerPolicyOptions, ...more }))).toThrow(message);
  });
});
