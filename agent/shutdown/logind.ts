/** Client of logind, which announces shutdowns and supports delaying them.
 *  Source: org.freedesktop.login1; upstream's node shutdown manager, release 1.24. */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { SystemBus } from '../dbus/system-bus.ts';

export interface Logind {
  /** Maximum delay of a shutdown, in ms. */
  longestDelayMs(): Promise<number>;
  /** Raises the maximum delay, now and after the next boot.
   *  @throws Error when the file is not writable or logind cannot be reloaded */
  allowDelay(seconds: number): Promise<void>;
  /** Calls the listener when a shutdown starts, and when it is cancelled. */
  onShutdown(listener: (begins: boolean) => void): Promise<void>;
}

export interface LogindOptions {
  /** Prefix of the name of the settings file. */
  readonly agentName: string;
  /** Directory of the logind settings. */
  readonly dir?: string;
}

const SETTINGS_DIR = '/etc/systemd/logind.conf.d';
const SERVICE = 'org.freedesktop.login1';
const PATH = '/org/freedesktop/login1';
const MANAGER = 'org.freedesktop.login1.Manager';
const SIGNAL = 'PrepareForShutdown';
const SIGHUP = 1;
/** logind applies its settings a moment after the reload. */
const ATTEMPTS = 20;
const ATTEMPT_MS = 50;

export function createLogind(clock: Clock, bus: SystemBus, options: LogindOptions): Logind {
  const { agentName, dir = SETTINGS_DIR } = options;

  async function longestDelayMs(): Promise<number> {
    const [microseconds = 0n] = await bus.call({
      destination: SERVICE,
      path: PATH,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: [MANAGER, 'InhibitDelayMaxUSec'],
    });
    return Number(microseconds) / 1000;
  }

  return {
    longestDelayMs,
    async allowDelay(seconds) {
      const file = `${dir}/99-${agentName}.conf`;
      await mkdir(dir, { recursive: true, mode: 0o755 });
      const text = `# ${agentName} logind override\n[Login]\nInhibitDelayMaxSec=${seconds}\n`;
      await writeFile(`${file}.tmp`, text, { mode: 0o644 });
      await rename(`${file}.tmp`, file);
      await bus.call({
        destination: 'org.freedesktop.systemd1',
        path: '/org/freedesktop/systemd1',
        interface: 'org.freedesktop.systemd1.Manager',
        member: 'KillUnit',
        signature: 'ssi',
        body: ['systemd-logind.service', 'all', SIGHUP],
      });
      for (let attempt = 0; attempt < ATTEMPTS && (await longestDelayMs()) < seconds * 1000; attempt += 1) {
        await sleep(clock, ATTEMPT_MS);
      }
    },
    onShutdown: (listener) =>
      bus.listen(
        `type='signal',sender='${SERVICE}',interface='${MANAGER}',member='${SIGNAL}',path='${PATH}'`,
        ({ interface: from, member, body }) => {
          if (from === MANAGER && member === SIGNAL) listener(body[0] === true);
        },
      ),
  };
}
