/** All checks in display order. */
import { asError } from '#api/kit/errno.ts';
import { checkAgent, checkPrivileges, checkWaits } from './checks/agent.ts';
import { checkServer, createCertificateCheck } from './checks/cluster.ts';
import { checkDevicePlugins, checkHugePages, checkShutdown } from './checks/devices.ts';
import { checkDisk } from './checks/disk.ts';
import { checkDocker } from './checks/docker.ts';
import { checkHardware } from './checks/hardware.ts';
import { checkCgroups, checkInotify, checkOverlay, checkSwap, createClockCheck } from './checks/kernel.ts';
import { checkKernelDefaults, checkLimits } from './checks/limits.ts';
import { checkMemoryNodes, checkProcessors } from './checks/resources.ts';
import { checkCni, checkRuntime } from './checks/runtime.ts';
import { checkCsiDrivers, checkFlexDrivers, checkVolumes } from './checks/volumes.ts';
import type { Finding } from './finding.ts';
import type { Machine } from './machine.ts';

/** A check of one subject. Returns no findings if it does not apply. */
export type Check = (machine: Machine) => Promise<readonly Finding[]>;

export const createChecks = (now: () => number): readonly Check[] => [
  checkAgent,
  checkWaits,
  checkPrivileges,
  checkServer,
  createCertificateCheck(now),
  checkRuntime,
  checkDocker,
  checkCni,
  checkCgroups,
  checkLimits,
  checkKernelDefaults,
  checkProcessors,
  checkMemoryNodes,
  checkHugePages,
  checkDevicePlugins,
  checkShutdown,
  checkSwap,
  checkOverlay,
  checkInotify,
  checkDisk,
  checkHardware,
  createClockCheck(now),
  checkVolumes,
  checkFlexDrivers,
  checkCsiDrivers,
];

/** Converts the failure of a check to a finding. */
export async function examine(machine: Machine, checks: readonly Check[]): Promise<readonly Finding[]> {
  const found = await Promise.all(
    checks.map((check) =>
      check(machine).catch((thrown: unknown): readonly Finding[] => [
        { area: 'agent', subject: 'doctor', state: 'limited', detail: asError(thrown).message },
      ]),
    ),
  );
  return found.flat();
}
