/** Reader of the fields of one object of the configuration file, which collects all errors. */
import { suggestion } from '#api/kit/suggest.ts';
import type { Parsed, ValueFault } from './parsed.ts';

export interface FieldTaker {
  /** Returns the field read by `parse`, or `fallback` and an error. */
  required<T>(name: string, parse: (raw: unknown) => Parsed<T>, fallback: T): T;
  /** Returns the field read by `parse`, or undefined where it is absent or invalid. */
  optional<T>(name: string, parse: (raw: unknown) => Parsed<T>): T | undefined;
  /** Returns all errors, including those of unknown fields. */
  faults(): readonly ValueFault[];
}

/** Creates a reader for one object. */
export function createFieldTaker(mapping: Readonly<Record<string, unknown>>): FieldTaker {
  const faults: ValueFault[] = [];
  const known: string[] = [];
  const optional = <T>(name: string, parse: (raw: unknown) => Parsed<T>): T | undefined => {
    known.push(name);
    const raw = mapping[name];
    if (raw === undefined || raw === null) return undefined;
    const parsed = parse(raw);
    if (parsed.kind === 'ok') return parsed.value;
    faults.push(...parsed.faults.map((fault) => ({ ...fault, path: `.${name}${fault.path}` })));
    return undefined;
  };
  return {
    optional,
    required: (name, parse, fallback) => {
      const raw = mapping[name];
      if (raw === undefined || raw === null) {
        known.push(name);
        faults.push({ kind: 'FieldValueRequired', path: `.${name}`, detail: 'must be given' });
        return fallback;
      }
      return optional(name, parse) ?? fallback;
    },
    faults: () => {
      const unknown = Object.keys(mapping).filter((name) => !known.includes(name));
      return [
        ...faults,
        ...unknown.map(
          (name): ValueFault => ({
            kind: 'FieldUnknown',
            path: `.${name}`,
            detail: `no such field${suggestion(name, known)}`,
          }),
        ),
      ];
    },
  };
}
