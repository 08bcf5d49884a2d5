/** CSIDrivers. Source: storage/v1. */
import type { CSIDriver, CSIDriverSpec } from '#api/schema/gen/storage-v1.ts';
import { createFaults, type Faults } from '#api/schema/validation/faults.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, UNSET } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';
import { validateDriverName } from './driver-name.ts';

const GROUP_POLICIES = ['ReadWriteOnceWithFSType', 'File', 'None'];
const MODES = ['Persistent', 'Ephemeral'];
const SHORTEST_TOKEN_SECONDS = 600;
const LONGEST_TOKEN_SECONDS = 2 ** 32;
const REQUIRED = ['attachRequired', 'podInfoOnMount', 'storageCapacity', 'fsGroupPolicy'] as const;
const FIXED = ['attachRequired', 'fsGroupPolicy', 'podInfoOnMount', 'volumeLifecycleModes'] as const;

function nameFaults(name: string): readonly string[] {
  const faults = createFaults();
  validateDriverName(faults, name, '');
  return faults.errors.map(({ detail }) => detail);
}

function validateTokens(faults: Faults, { tokenRequests = [] }: CSIDriverSpec): void {
  const audiences = new Set<string>();
  for (const [index, { audience, expirationSeconds }] of tokenRequests.entries()) {
    const path = `spec.tokenRequests[${index}]`;
    if (audiences.has(audience)) faults.duplicate(`${path}.audience`, audience);
    audiences.add(audience);
    if (expirationSeconds === undefined) continue;
    const at = `${path}.expirationSeconds`;
    if (expirationSeconds < SHORTEST_TOKEN_SECONDS) {
      faults.invalid(at, expirationSeconds, 'may not specify a duration less than 10 minutes');
    } else if (expirationSeconds > LONGEST_TOKEN_SECONDS) {
      faults.invalid(at, expirationSeconds, 'may not specify a duration larger than 2^32 seconds');
    }
  }
}

function validateSpec(faults: Faults, spec: CSIDriverSpec): void {
  for (const member of REQUIRED) if (spec[member] === undefined) faults.required(`spec.${member}`);
  const { fsGroupPolicy, volumeLifecycleModes = [] } = spec;
  if (fsGroupPolicy !== undefined && !GROUP_POLICIES.includes(fsGroupPolicy)) {
    faults.unsupported('spec.fsGroupPolicy', fsGroupPolicy, GROUP_POLICIES);
  }
  for (const [index, mode] of volumeLifecycleModes.entries()) {
    if (!MODES.includes(mode)) faults.unsupported(`spec.volumeLifecycleModes[${index}]`, mode, MODES);
  }
  validateTokens(faults, spec);
}

export const csiDriver: KindEntry = {
  strategy: kindStrategy<CSIDriver>({
    nameFaults,
    unconditionalUpdate: false,
    countsGeneration: false,
    validate: (faults, { spec }) => validateSpec(faults, spec),
    validateUpdate(faults, { spec }, { spec: old }) {
      for (const member of FIXED) validateImmutable(faults, spec[member], old[member], `spec.${member}`);
    },
    row: (object, { nowMs }) => {
      const { spec, metadata } = object;
      return [
        metadata?.name ?? '',
        spec.attachRequired ?? true,
        spec.podInfoOnMount ?? false,
        spec.storageCapacity ?? false,
        (spec.tokenRequests ?? []).map(({ audience }) => audience).join(',') || UNSET,
        spec.requiresRepublish ?? false,
        (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
        ageOf(object, nowMs),
      ];
    },
  }),
};
