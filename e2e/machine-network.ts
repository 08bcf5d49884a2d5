/** A network between machines: the first one has a bridge, and every other one a cable to it. Nothing of it exists in
 *  the host's network namespace. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Machine } from './machine.ts';

const run = promisify(execFile);

/** Returns the address of the machine with this index. */
export const addressOf = (index: number): string => `10.99.0.${index + 1}`;

const inMachine = (machine: Machine, ...argv: readonly string[]): Promise<unknown> =>
  run('nsenter', [`--target=${machine.leader()}`, '--net', 'ip', ...argv]);

/** Connects the machines; repeated after a reboot of any of them, whose interfaces are gone. */
export async function connectMachines(machines: readonly Machine[]): Promise<void> {
  const [hub, ...others] = machines;
  if (hub === undefined) return;
  await inMachine(hub, 'link', 'show', 'hub0').catch(async () => {
    await inMachine(hub, 'link', 'add', 'hub0', 'type', 'bridge');
    await inMachine(hub, 'addr', 'add', `${addressOf(0)}/24`, 'dev', 'hub0');
    await inMachine(hub, 'link', 'set', 'hub0', 'up');
    await inMachine(hub, 'route', 'add', 'default', 'via', addressOf(253));
  });
  for (const [index, machine] of others.entries()) {
    const port = `port${index}`;
    // Both ends of a cable disappear together.
    const isConnected = await inMachine(machine, 'link', 'show', 'up0').then(
      () => true,
      () => false,
    );
    if (isConnected) continue;
    const leader = String(machine.leader());
    await inMachine(hub, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'up0', 'netns', leader);
    await inMachine(hub, 'link', 'set', port, 'master', 'hub0', 'up');
    await inMachine(machine, 'addr', 'add', `${addressOf(index + 1)}/24`, 'dev', 'up0');
    await inMachine(machine, 'link', 'set', 'up0', 'up');
    await inMachine(machine, 'route', 'add', 'default', 'via', addressOf(0));
  }
}
