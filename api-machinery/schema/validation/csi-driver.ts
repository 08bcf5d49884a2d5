/** Validation of CSIDrivers. Source: storage/v1, release 1.24. */

import type { CSIDriver, CSIDriverSpec } from '../../gen/storage-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { dns1123SubdomainErrors } from '../../meta/names.ts';
import { createBoundedFieldErrors, type FieldErrors } from './field-errors.ts';

const GROUP_POLICIES = ['ReadWriteOnceWithFSType', 'File', 'None'];
const MODES = ['Persistent', 'Ephemeral'];
const SHORTEST_TOKEN_SECONDS = 600;
const LONGEST_TOKEN_SECONDS = 2 ** 32;
const REQUIRED = ['attachRequired', 'podInfoOnMount', 'storageCapacity', 'fsGroupPolicy'] as const;
const LONGEST_NAME = 63;

/** Returns every validation error of a driver's name: a DNS name in any case, shorter than most. Source: CSI,
 *  GetPluginInfo. */
export function validateDriverName(errors: FieldErrors, name: string, path: string): void {
  if (name === '') return errors.required(path);
  if (name.length > LONGEST_NAME) {
    errors.add('FieldValueTooLong', path, `must have at most ${LONGEST_NAME} characters`, name);
  }
  errors.invalidAll(path, name, dns1123SubdomainErrors(name.toLowerCase()));
  return undefined;
}

function validateTokens(errors: FieldErrors, { tokenRequests = [] }: CSIDriverSpec): void {
  const audiences = new Set<string>();
  for (const [index, { audience, expirationSeconds }] of tokenRequests.entries()) {
    const path = `spec.tokenRequests[${index}]`;
    if (audiences.has(audience)) errors.duplicate(`${path}.audience`, audience);
    audiences.add(audience);
    if (expirationSeconds === undefined) continue;
    const at = `${path}.expirationSeconds`;
    if (expirationSeconds < SHORTEST_TOKEN_SECONDS) {
      errors.invalid(at, expirationSeconds, 'may not specify a duration less than 10 minutes');
    } else if (expirationSeconds > LONGEST_TOKEN_SECONDS) {
      errors.invalid(at, expirationSeconds, 'may not specify a duration larger than 2^32 seconds');
    }
  }
}

/** Validates everything but the metadata. */
export function validateDriverSpec(errors: FieldErrors, spec: CSIDriverSpec): void {
  for (const member of REQUIRED) if (spec[member] === undefined) errors.required(`spec.${member}`);
  const { fsGroupPolicy, volumeLifecycleModes = [] } = spec;
  if (fsGroupPolicy !== undefined && !GROUP_POLICIES.includes(fsGroupPolicy)) {
    errors.unsupported('spec.fsGroupPolicy', fsGroupPolicy, GROUP_POLICIES);
  }
  for (const [index, mode] of volumeLifecycleModes.entries()) {
    if (!MODES.includes(mode)) errors.unsupported(`spec.volumeLifecycleModes[${index}]`, mode, MODES);
  }
  validateTokens(errors, spec);
}

/** Returns the validation errors of a driver in a manifest. */
export function validateCSIDriver({ metadata, spec }: CSIDriver): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  validateDriverName(errors, metadata?.name ?? '', 'metadata.name');
  validateDriverSpec(errors, spec);
  return errors.all;
}
