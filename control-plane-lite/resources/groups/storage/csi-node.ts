/** CSINodes: drivers of a node. Source: storage/v1. */
import { isDeepStrictEqual } from 'node:util';
import type { CSINode, CSINodeDriver } from '#api/gen/storage-v1.ts';
import { qualifiedNameErrors } from '#api/meta/names.ts';
import { validateDriverName } from '#api/schema/validation/csi-driver.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy } from '../kind.ts';

const LONGEST_ID = 192;

function validateDriver(errors: FieldErrors, driver: CSINodeDriver, path: string): void {
  const { name, nodeID, allocatable, topologyKeys = [] } = driver;
  validateDriverName(errors, name, `${path}.name`);
  if (nodeID === '') errors.required(`${path}.nodeID`);
  if (nodeID.length > LONGEST_ID) {
    errors.invalid(`${path}.nodeID`, nodeID, `must be ${LONGEST_ID} characters or less`);
  }
  errors.nonNegative(`${path}.allocatable.count`, allocatable?.count);
  for (const [index, key] of topologyKeys.entries()) {
    const at = `${path}.topologyKeys[${index}]`;
    if (key === '') errors.required(at);
    else errors.invalidAll(at, key, qualifiedNameErrors(key));
    if (topologyKeys.indexOf(key) < index) errors.duplicate(at, key);
  }
}

export const csiNode: KindEntry = {
  strategy: kindStrategy<CSINode>({
    unconditionalUpdate: false,
    countsGeneration: false,
    validate(errors, { spec }) {
      const names = new Set<string>();
      for (const [index, driver] of spec.drivers.entries()) {
        const path = `spec.drivers[${index}]`;
        validateDriver(errors, driver, path);
        if (names.has(driver.name)) errors.duplicate(`${path}.name`, driver.name);
        names.add(driver.name);
      }
    },
    validateUpdate(errors, { spec }, { spec: old }) {
      // Drivers can be added and removed, but existing ones are immutable.
      for (const [index, driver] of spec.drivers.entries()) {
        const before = old.drivers.find(({ name }) => name === driver.name);
        if (before === undefined || isDeepStrictEqual(before, driver)) continue;
        errors.invalid(`spec.drivers[${index}]`, driver, 'field is immutable');
      }
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec.drivers.length,
      ageOf(object, nowMs),
    ],
  }),
};
