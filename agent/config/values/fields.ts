/** Reader of the fields of one object of the configuration file, which collects all errors. */
import { suggestion } from '#api/kit/text/suggest.ts';
import type { Parsed, ValueError } from './parsed.ts';

export interface FieldTaker {
  /** Returns the field read by `parse`, or `fallback` and an error. */
  required<T>(name: string, parse: (raw: unknown) => Parsed<T>, fallback: T): T;
  /** Returns the field read by `parse`, or undefined where it is absent or invalid. */
  optional<T>(name: string, parse: (raw: unknown) => Parsed<T>): T | undefined;
  /** Returns all errors, including those of unknown fields. */
  errors(): readonly ValueError[];
}

/** Creates a reader for one object. */
export function createFieldTaker(mapping: Readonly<Record<string, unknown>>): FieldTaker {
  const errors: ValueError[] = [];
  const known: string[] = [];
  const optional = <T>(name: string, parse: (raw: unknown) => Parsed<T>): T | undefined => {
    known.push(name);
    const raw = mapping[name];
    if (raw === undefined || raw === null) return undefined;
    const parsed = parse(raw);
    if (parsed.kind === 'ok') return parsed.value;
    errors.push(...parsed.errors.map((error) => ({ ...error, path: `.${name}${error.path}` })));
    return undefined;
  };
  return {
    optional,
    required: (name, parse, fallback) => {
      const raw = mapping[name];
      if (raw === undefined || raw === null) {
        known.push(name);
        errors.push({ kind: 'FieldValueRequired', path: `.${name}`, detail: 'must be given' });
        return fallback;
      }
      return optional(name, parse) ?? fallback;
    },
    errors: () => {
      const unknown = Object.keys(mapping).filter((name) => !known.includes(name));
      return [
        ...errors,
        ...unknown.map(
          (name): ValueError => ({
            kind: 'FieldUnknown',
            path: `.${name}`,
            detail: `no such field${suggestion(name, known)}`,
          }),
        ),
      ];
    },
  };
}
