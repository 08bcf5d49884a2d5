/** Checks of the agent process: running, and with which privileges. */
import type { Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';

/** Capabilities that the agent uses, by bit. Source: Linux, capability.h. */
const CAPABILITIES: readonly (readonly [bit: number, name: string, use: string])[] = [
  [0, 'CAP_CHOWN', 'changing the group of volumes'],
  [1, 'CAP_DAC_OVERRIDE', 'accessing files of containers'],
  [5, 'CAP_KILL', 'stopping helper programs'],
  [12, 'CAP_NET_ADMIN', 'configuring pod networks'],
  [19, 'CAP_SYS_PTRACE', 'limiting resources of processes'],
  [21, 'CAP_SYS_ADMIN', 'mounting volumes'],
  [24, 'CAP_SYS_RESOURCE', 'setting lower OOM scores and raising its own limits'],
  [27, 'CAP_MKNOD', 'devices'],
];

export async function checkAgent({ agent }: Machine): Promise<readonly Finding[]> {
  const detail = agent.running
    ? `running, version ${agent.version}`
    : 'not running; checks use the default configuration';
  return Promise.resolve([{ area: 'agent', subject: 'agent', state: 'ok', detail }]);
}

export const checkWaits = ({ agent }: Machine): Promise<readonly Finding[]> =>
  Promise.resolve(
    agent.waits.map((wait) => ({
      area: 'agent',
      subject: 'waits',
      state: 'limited',
      detail: `the agent is waiting for ${wait}`,
    })),
  );

export async function checkPrivileges(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'agent', subject: 'privileges' } as const;
  if (machine.uid !== 0) {
    const advice = 'run nodeagent doctor as root to check the permissions of the agent';
    return [{ ...base, state: 'limited', detail: `this is user ${machine.uid}, not root`, advice }];
  }
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec((await machine.read('/proc/self/status')) ?? '')?.[1];
  if (mask === undefined) return [{ ...base, state: 'ok', detail: 'root' }];
  const held = BigInt(`0x${mask}`);
  const missing = CAPABILITIES.filter(([bit]) => ((held >> BigInt(bit)) & 1n) === 0n);
  if (missing.length === 0) return [{ ...base, state: 'ok', detail: 'root, with all required capabilities' }];
  return missing.map(([, name, use]) => ({
    ...base,
    // Without mounts there are no volumes, and every pod has one.
    state: name === 'CAP_SYS_ADMIN' ? 'broken' : 'limited',
    detail: `root without ${name}, which is required for ${use}`,
  }));
}
