/** Whether an agent runs, and as whom. */
import type { Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';

/** Capabilities that the agent uses, by their bits. Source: Linux, capability.h. */
const CAPABILITIES: readonly (readonly [bit: number, name: string, use: string])[] = [
  [0, 'CAP_CHOWN', 'giving volumes to groups'],
  [1, 'CAP_DAC_OVERRIDE', 'files of containers'],
  [5, 'CAP_KILL', 'ending helper programs'],
  [12, 'CAP_NET_ADMIN', 'networks of pods'],
  [19, 'CAP_SYS_PTRACE', 'resources of processes'],
  [21, 'CAP_SYS_ADMIN', 'mounting volumes'],
  [24, 'CAP_SYS_RESOURCE', 'OOM scores below those of the agent, and limits of its own'],
  [27, 'CAP_MKNOD', 'devices'],
];

export async function checkAgent({ agent }: Machine): Promise<readonly Finding[]> {
  const detail = agent.running
    ? `runs, version ${agent.version}`
    : 'does not run: its defaults are looked at';
  return Promise.resolve([{ area: 'agent', subject: 'agent', state: 'ok', detail }]);
}

export const checkWaits = ({ agent }: Machine): Promise<readonly Finding[]> =>
  Promise.resolve(
    agent.waits.map((wait) => ({
      area: 'agent',
      subject: 'waits',
      state: 'limited',
      detail: `the agent waits for ${wait}`,
    })),
  );

export async function checkPrivileges(machine: Machine): Promise<readonly Finding[]> {
  const base = { area: 'agent', subject: 'privileges' } as const;
  if (machine.uid !== 0) {
    const advice = 'run nodeagent doctor as root to see what the agent can do';
    return [{ ...base, state: 'limited', detail: `this is user ${machine.uid}, not root`, advice }];
  }
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec((await machine.read('/proc/self/status')) ?? '')?.[1];
  if (mask === undefined) return [{ ...base, state: 'ok', detail: 'root' }];
  const held = BigInt(`0x${mask}`);
  const missing = CAPABILITIES.filter(([bit]) => ((held >> BigInt(bit)) & 1n) === 0n);
  if (missing.length === 0)
    return [{ ...base, state: 'ok', detail: 'root, with all capabilities that are used' }];
  return missing.map(([, name, use]) => ({
    ...base,
    // Without it there is no volume, and no pod without any.
    state: name === 'CAP_SYS_ADMIN' ? 'broken' : 'limited',
    detail: `root without ${name}, for ${use}`,
  }));
}
