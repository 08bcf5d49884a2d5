/** Validation of rbd volumes. Source: volume sources, document 3 §2.3; upstream's rbd plugin, release
 *  1.24. */
import { isAbsolute } from 'node:path';
import type { RBDPersistentVolumeSource, RBDVolumeSource } from '#api/gen/core-v1.ts';
import { badField, checkName } from '../devices/fields.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

export type RbdSpec = RBDVolumeSource | RBDPersistentVolumeSource;

export const DEFAULT_POOL = 'rbd';

export interface RbdImage {
  readonly monitors: readonly string[];
  readonly pool: string;
  readonly image: string;
}

export interface RbdAccess {
  readonly user: string;
  readonly keyring: string;
}

const MONITOR =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]|[0-9A-Fa-f]*:[0-9A-Fa-f:.]+)(?::\d{1,5})?$/;
const MONITOR_FORM = 'must be the address of a monitor, such as 10.0.0.1:6789';
/** `@` selects a snapshot, `/` another pool. */
const PART_OF = /[@/]/;

function checkPart(field: string, value: string, what: string): string {
  if (PART_OF.test(value)) throw badField(field, value, `must be ${what} only, without @ or /`);
  return checkName(field, value, what);
}

const orElse = (value: string | undefined, otherwise: string): string =>
  value === undefined || value === '' ? otherwise : value;

/** @throws VolumeSetupError with field, value and expectation */
export function parseImage(spec: RbdSpec): RbdImage {
  const { monitors } = spec;
  if (monitors.length === 0) throw new VolumeSetupError('rbd.monitors: Required value');
  const wrong = monitors.findIndex((monitor) => !MONITOR.test(monitor));
  if (wrong >= 0) throw badField(`rbd.monitors[${wrong}]`, monitors[wrong], MONITOR_FORM);
  return {
    monitors,
    pool: checkPart('rbd.pool', orElse(spec.pool, DEFAULT_POOL), 'the name of a pool'),
    image: checkPart('rbd.image', spec.image, 'the name of an image'),
  };
}

/** @throws VolumeSetupError with field, value and expectation */
export function parseAccess(spec: RbdSpec): RbdAccess {
  const keyring = orElse(spec.keyring, '/etc/ceph/keyring');
  const usable = isAbsolute(keyring) && !keyring.split('/').includes('..') && !/\p{Cc}/u.test(keyring);
  if (!usable) throw badField('rbd.keyring', keyring, 'must be an absolute path without ".."');
  return { user: checkName('rbd.user', orElse(spec.user, 'admin'), 'the name of a user'), keyring };
}
