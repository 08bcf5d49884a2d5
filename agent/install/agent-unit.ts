/** Restarts the unit of the agent and reports its state: an agent that waits for its runtime is not active
 *  yet, and the caller need not wait with it. */
import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '#api/kit/clock.ts';
import { type Systemctl, systemctl } from '#api/kit/install/systemctl.ts';
import { AGENT_UNIT, installPaths, UNIT_FOLDERS } from './paths.ts';

const execute = promisify(execFile);

/** Maximum wait for the agent to become active, in ms. */
const ACTIVE_MS = 30_000;
const POLL_MS = 200;
/** Exists if systemd is the init system. */
const SYSTEMD_RUNS = '/run/systemd/system';

export interface UnitState {
  /** `active`, `activating`, `failed`… */
  readonly active: string;
  /** Status text of the process (sd_notify). */
  readonly status: string;
}

async function unitState(unit: string): Promise<UnitState> {
  const { stdout } = await execute('systemctl', [
    'show',
    unit,
    '--property=ActiveState',
    '--property=StatusText',
  ]);
  const lines = stdout.split('\n');
  const valueOf = (name: string): string =>
    lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
  return { active: valueOf('ActiveState'), status: valueOf('StatusText') };
}

export interface RestartDeps {
  readonly systemctl: Systemctl;
  readonly state: () => Promise<UnitState>;
  readonly clock: Pick<typeof systemClock, 'monotonic' | 'setTimer'>;
  readonly say: (text: string) => void;
}

export const restartDeps = (deps: Pick<RestartDeps, 'systemctl' | 'say'>): RestartDeps => ({
  ...deps,
  state: () => unitState(AGENT_UNIT),
  clock: systemClock,
});

/** Restarts the unit and waits until it is active, or reports after a while what it is waiting for. @throws
 *  SystemctlError */
export async function restartAgent({ systemctl: call, state, clock, say }: RestartDeps): Promise<void> {
  await call(['restart', '--no-block', AGENT_UNIT]);
  const deadline = clock.monotonic() + ACTIVE_MS;
  for (;;) {
    await new Promise<void>((resolve) => void clock.setTimer(resolve, POLL_MS));
    const { active, status } = await state();
    if (active === 'active') return say(`${AGENT_UNIT} was restarted${status === '' ? '' : `: ${status}`}`);
    if (clock.monotonic() < deadline) continue;
    const why = status === '' ? '' : `, ${status}`;
    return say(`${AGENT_UNIT} is ${active}${why}; see: systemctl status nodeagent, journalctl -u nodeagent`);
  }
}

/** Restarts the installed unit if it uses this configuration file. @returns whether such a unit exists
 *  @throws SystemctlError */
export async function restartInstalledAgent(
  configFile: string,
  say: (text: string) => void,
): Promise<boolean> {
  const paths = installPaths();
  if (configFile !== paths.config) return false;
  const units = await Promise.all(UNIT_FOLDERS.map((folder) => isThere(join(folder, AGENT_UNIT))));
  if (!units.includes(true) || !(await isThere(SYSTEMD_RUNS))) return false;
  await systemctl(['daemon-reload']);
  await systemctl(['enable', AGENT_UNIT]);
  await restartAgent(restartDeps({ systemctl, say }));
  return true;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
