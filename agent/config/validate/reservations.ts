/** Validation of reserved resources: for the system, by NUMA node, by QoS class. */
import { compareQuantities, isQuantity } from '#api/meta/quantity.ts';
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

const RESERVABLE: readonly string[] = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

function checkReserved(config: AgentConfig): readonly ConfigFieldError[] {
  return (['systemReserved', 'platReserved'] as const).flatMap((key) =>
    Object.entries(config[key]).flatMap(([name, badValue]) => {
      const path = `[${name}]`;
      if (!RESERVABLE.includes(name)) {
        const detail = `only ${RESERVABLE.join(', ')} can be reserved`;
        return [errorOf(key, detail, { kind: 'FieldValueNotSupported', badValue: name, path })];
      }
      if (!isQuantity(badValue)) {
        return [errorOf(key, 'must be a quantity such as 500Mi', { badValue, path })];
      }
      return compareQuantities(badValue, '0') < 0
        ? [errorOf(key, 'must not be negative', { badValue, path })]
        : [];
    }),
  );
}

/** Returns the error of a text that is not a CPU set such as `0-3,8`. */
function cpuSetError(text: string): string | undefined {
  for (const part of text.split(',')) {
    const match = /^\s*(?<from>\d{1,5})(?:-(?<to>\d{1,5}))?\s*$/.exec(part)?.groups;
    if (match === undefined) return 'must be CPU numbers and ranges such as 0-3,8';
    if (Number(match['to'] ?? match['from']) < Number(match['from'])) {
      return `the range ${part.trim()} runs backwards`;
    }
  }
  return undefined;
}

function checkReservedCPUs(config: AgentConfig): readonly ConfigFieldError[] {
  const key = 'reservedSystemCPUs';
  const badValue = config.reservedSystemCPUs;
  if (badValue === '') return [];
  const detail = cpuSetError(badValue);
  const errors = detail === undefined ? [] : [errorOf(key, detail, { badValue })];
  const cgroups = (['systemReservedCgroup', 'platReservedCgroup'] as const).filter(
    (one) => config[one] !== '',
  );
  if (cgroups.length === 0) return errors;
  const conflict = `cannot be combined with ${cgroups.join(' and ')}`;
  return [...errors, errorOf(key, conflict, { kind: 'FieldValueForbidden', badValue, others: cgroups })];
}

function checkReservedMemory({ reservedMemory }: AgentConfig): readonly ConfigFieldError[] {
  const key = 'reservedMemory';
  const seen = new Set<string>();
  return reservedMemory.flatMap(({ numaNode, limits }, index) => {
    const place = `[${index}].limits`;
    const errors: ConfigFieldError[] = [];
    if (numaNode < 0) {
      errors.push(errorOf(key, 'must not be negative', { badValue: numaNode, path: `[${index}].numaNode` }));
    }
    for (const [name, badValue] of Object.entries(limits)) {
      const path = `${place}[${name}]`;
      if (name !== 'memory' && !/^hugepages-./.test(name)) {
        const detail = 'only memory and hugepages-SIZE can be reserved on a NUMA node';
        errors.push(errorOf(key, detail, { kind: 'FieldValueNotSupported', badValue: name, path }));
      }
      if (!isQuantity(badValue) || compareQuantities(badValue, '0') <= 0) {
        errors.push(errorOf(key, 'must be a quantity above zero, such as 1Gi', { badValue, path }));
      }
      const pair = `${numaNode} ${name}`;
      if (seen.has(pair)) {
        const detail = `is reserved on NUMA node ${numaNode} already`;
        errors.push(errorOf(key, detail, { kind: 'FieldValueDuplicate', badValue: name, path }));
      }
      seen.add(pair);
    }
    return errors;
  });
}

function checkQOSReserved({ qosReserved }: AgentConfig): readonly ConfigFieldError[] {
  const key = 'qosReserved';
  return Object.entries(qosReserved).flatMap(([name, badValue]) => {
    const path = `[${name}]`;
    if (name !== 'memory') {
      const detail = 'only memory can be reserved by class';
      return [errorOf(key, detail, { kind: 'FieldValueNotSupported', badValue: name, path })];
    }
    const percent = /^(?<number>\d{1,3})%$/.exec(badValue)?.groups?.['number'];
    if (percent !== undefined && Number(percent) <= 100) return [];
    return [errorOf(key, 'must be a percentage from 0% to 100%', { badValue, path })];
  });
}

/** Returns the validation errors of the reservations. */
export function validateReservations(config: AgentConfig): readonly ConfigFieldError[] {
  return [
    ...checkReserved(config),
    ...checkReservedCPUs(config),
    ...checkReservedMemory(config),
    ...checkQOSReserved(config),
  ];
}
