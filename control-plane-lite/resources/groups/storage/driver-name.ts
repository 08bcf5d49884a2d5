/** Names of CSI drivers. Source: CSI specification, GetPluginInfo. */
import { dns1123SubdomainFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';

const LONGEST = 63;

/** Every fault of a driver's name: a DNS name in any case, shorter than most. */
export function validateDriverName(faults: Faults, name: string, path: string): void {
  if (name === '') return faults.required(path);
  if (name.length > LONGEST) {
    faults.add('FieldValueTooLong', path, `must have at most ${LONGEST} characters`, name);
  }
  faults.invalidAll(path, name, dns1123SubdomainFaults(name.toLowerCase()));
  return undefined;
}
