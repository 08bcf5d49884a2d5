/** Checks for the requirements of each volume source. */
import { join } from 'node:path';
import type { SourceAbout, SourcePlugin } from '#volumes/contract/source.ts';
import { listFlexDrivers } from '#volumes/flex/drivers.ts';
import { packageOf } from '#volumes/programs/packages.ts';
import { allSources } from '#volumes/sources/docs.ts';
import type { Finding } from '../finding.ts';
import { createFileSystems, type FileSystems } from '../kernel-file-systems.ts';
import type { Machine } from '../machine.ts';

/** Returns the CSI driver that handles the volumes of a source with these gates. */
function driverOf({ migration }: SourceAbout, gates: ReadonlySet<string>): string | undefined {
  if (migration === undefined || !gates.has('CSIMigration')) return undefined;
  return migration.gate === undefined || gates.has(migration.gate) ? migration.driver : undefined;
}

const registryOf = ({ settings }: Machine): string => join(settings.rootDir, 'plugins_registry');

/** Drivers name their registration socket after themselves. */
async function checkDriver(
  machine: Machine,
  driver: string,
): Promise<Pick<Finding, 'state' | 'detail' | 'advice'>> {
  const folder = registryOf(machine);
  const isHere = (await machine.list(folder)).some((name) => name.startsWith(driver));
  if (isHere) return { state: 'ok', detail: `handled by the CSI driver ${driver}` };
  const needsServer =
    machine.settings.platconfig === '' ? '; it attaches disks, which requires an API server' : '';
  return {
    state: 'limited',
    detail: `requires the CSI driver ${driver}, which has no socket in ${folder}`,
    advice: `run the driver on this node${needsServer}`,
  };
}

async function checkSource(
  machine: Machine,
  fileSystems: FileSystems,
  { name, about }: SourcePlugin,
): Promise<Finding> {
  const { programs = [], fileSystems: needed = [] } = about;
  const base = { area: 'volumes', subject: name } as const;
  const driver = driverOf(about, machine.settings.gates);
  if (driver !== undefined) return { ...base, ...(await checkDriver(machine, driver)) };
  const present = await Promise.all(programs.map((program) => machine.hasProgram(program)));
  const support = await Promise.all(needed.map((each) => fileSystems.find(each)));
  const absent = programs.filter((_, index) => present[index] !== true);
  const unknown = needed.filter((_, index) => support[index] === 'missing');
  if (absent.length === 0 && unknown.length === 0) {
    const found = [...programs, ...needed.map((each, index) => `${each} (${support[index]})`)];
    return { ...base, state: 'ok', detail: found.length === 0 ? 'supported' : `has ${found.join(', ')}` };
  }
  const packages = [...new Set(absent.map(packageOf))];
  const lacks = [
    ...absent.map((program) => `the program ${program}`),
    ...unknown.map((each) => `the file system ${each} in the kernel`),
  ];
  return {
    ...base,
    state: 'limited',
    detail: `requires ${lacks.join(', ')}`,
    ...(packages.length === 0 ? {} : { advice: `install ${packages.join(' and ')}` }),
  };
}

export async function checkVolumes(machine: Machine): Promise<readonly Finding[]> {
  const fileSystems = await createFileSystems(machine);
  return Promise.all(allSources().map((plugin) => checkSource(machine, fileSystems, plugin)));
}

/** An installed driver is meant to be used. */
export async function checkFlexDrivers(machine: Machine): Promise<readonly Finding[]> {
  const { volumePluginDir } = machine.settings;
  const drivers = await listFlexDrivers(machine.path(volumePluginDir));
  return drivers.map(({ name, runnable }) => ({
    area: 'volumes',
    subject: 'flex driver',
    state: runnable ? 'ok' : 'broken',
    detail: runnable ? name : `${name} has no executable in its directory`,
    ...(runnable ? {} : { advice: `check ${volumePluginDir}` }),
  }));
}

/** Lists the registration sockets of CSI drivers. */
export async function checkCsiDrivers(machine: Machine): Promise<readonly Finding[]> {
  const folder = registryOf(machine);
  const sockets = (await machine.list(folder)).filter((name) => name.endsWith('.sock')).toSorted();
  return sockets.map((name) => ({
    area: 'volumes',
    subject: 'CSI driver',
    state: 'ok',
    detail: `${folder}/${name}`,
  }));
}
