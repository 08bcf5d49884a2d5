/** File locations of an installed control-plane-lite. The units in systemd/ use the same paths. */
import { join } from 'node:path';
import type { ProgramSpec } from '#api/kit/install/program.ts';

export const PLANE_PROGRAM: ProgramSpec = {
  name: 'control-plane-lite',
  files: [
    'control-plane-lite/install/defaults',
    'control-plane-lite/install/systemd',
    'package.json',
    'LICENSE',
    'docs/install.md',
    'docs/backup.md',
    'docs/upgrade.md',
  ],
};

export const SERVER_UNIT = 'control-plane-lite.service';
const BACKUP_TIMER = 'control-plane-lite-backup.timer';
export const UNITS: readonly string[] = [SERVER_UNIT, 'control-plane-lite-backup.service', BACKUP_TIMER];
/** Units that `install` enables. */
export const ENABLED_UNITS: readonly string[] = [SERVER_UNIT, BACKUP_TIMER];

export interface PlanePaths {
  readonly program: string;
  readonly command: string;
  readonly units: string;
  /** Description of the user, for systemd-sysusers. */
  readonly users: string;
  /** Description of the folder of backups, for systemd-tmpfiles. */
  readonly folders: string;
  readonly defaults: string;
  readonly data: string;
  /** Everything else that the server and its units write. */
  readonly written: readonly string[];
}

/** Absolute paths, below `root` when the installation is staged elsewhere. */
export function planePaths(root = '/'): PlanePaths {
  const at = (path: string): string => join(root, path);
  return {
    program: at('/usr/local/lib/control-plane-lite'),
    command: at('/usr/local/bin/control-plane-lite'),
    units: at('/usr/local/lib/systemd/system'),
    users: at('/usr/local/lib/sysusers.d/control-plane-lite.conf'),
    folders: at('/usr/local/lib/tmpfiles.d/control-plane-lite.conf'),
    defaults: at('/etc/default/control-plane-lite'),
    data: at('/var/lib/control-plane-lite'),
    written: [
      '/var/cache/control-plane-lite',
      '/var/log/control-plane-lite',
      '/var/backups/control-plane-lite',
      '/etc/control-plane-lite',
    ].map(at),
  };
}
