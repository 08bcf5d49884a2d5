/** A machine for tests. */
import type { MachineFacts } from './types.ts';

const GIBIBYTE = 1024 ** 3;

export const MACHINE: MachineFacts = {
  cores: 4,
  memoryBytes: 8 * GIBIBYTE,
  hugePages: [{ sizeBytes: 2 * 1024 ** 2, count: 0 }],
  rootBytes: 100 * GIBIBYTE,
  machineID: 'machine-1',
  systemUUID: 'system-1',
  bootID: 'boot-1',
  kernelVersion: '6.1.0',
  osImage: 'Test OS 1',
  architecture: 'amd64',
  appArmor: false,
  network: {
    addresses: [
      { interfaceName: 'lo', address: '127.0.0.1' },
      { interfaceName: 'eth0', address: 'fe80::1' },
      { interfaceName: 'eth0', address: '10.0.0.5' },
      { interfaceName: 'eth0', address: '2001:db8::5' },
      { interfaceName: 'eth1', address: '10.9.0.5' },
    ],
    defaultRoutes: [
      { interfaceName: 'eth1', family: 'IPv4', metric: 200 },
      { interfaceName: 'eth0', family: 'IPv4', metric: 100 },
      { interfaceName: 'eth0', family: 'IPv6', metric: 1024 },
    ],
    resolved: [],
  },
};
