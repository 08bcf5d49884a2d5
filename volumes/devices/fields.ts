/** Validation of fields common to block device sources. Values come from pods: none may lead to another
 *  path or become another argument of a program. Pure. */
import { VolumeSetupError } from '../errors/setup-error.ts';

const MAX_SHOWN_LENGTH = 200;

/** Validation error of a field: its name, its value and the expectation. */
export function badField(field: string, value: unknown, right: string): VolumeSetupError {
  const shown = (JSON.stringify(value) ?? 'undefined').slice(0, MAX_SHOWN_LENGTH);
  return new VolumeSetupError(`${field} ${shown}: ${right}`);
}

/** A name that is one path element and never an option: of devices, disks, pools and the like. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.:@+=-]*$/;
const MAX_NAME_LENGTH = 255;

/** @param what the kind of name, such as `the name of a disk` @throws VolumeSetupError */
export function checkName(field: string, value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new VolumeSetupError(`${field}: Required value: ${what}`);
  if (NAME.test(value) && value.length <= MAX_NAME_LENGTH) return value;
  throw badField(
    field,
    value,
    `must be ${what}: letters, digits and any of _.:@+=- that it doesn't begin with`,
  );
}

const FS_TYPE = /^[a-z0-9][a-z0-9_.-]{0,31}$/;

/** @param otherwise default for an empty field @throws VolumeSetupError */
export function checkFsType(field: string, value: string | undefined, otherwise = 'ext4'): string {
  if (value === undefined || value === '') return otherwise;
  if (FS_TYPE.test(value)) return value;
  throw badField(field, value, 'must be the name of a file system, such as ext4 or xfs');
}

const LAST_PARTITION = 255;

/** @throws VolumeSetupError */
export function checkPartition(field: string, value: number | undefined): number | undefined {
  if (value === undefined || value === 0) return undefined;
  if (Number.isInteger(value) && value > 0 && value <= LAST_PARTITION) return value;
  throw badField(field, value, `must be a number from 1 to ${LAST_PARTITION}, or 0 for the whole disk`);
}

const LAST_LUN = 255;

/** @throws VolumeSetupError */
export function checkLun(field: string, value: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= LAST_LUN) return value;
  throw badField(field, value, `must be a number from 0 to ${LAST_LUN}`);
}
