/** Faults of the configuration, with the flag or the file and field they are in. */
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import type { Setting } from './setting.ts';
import type { ValueFault } from './values/parsed.ts';

/** `field` is a flag such as `--max-pods`, or the path of a field where `file` is given. */
export interface ConfigError extends FieldError {
  /** The configuration file. */
  readonly file?: string;
}

/** `/etc/agent.yaml: maxPods: Invalid value: -1: must be at least 0`. */
export function formatConfigError(error: ConfigError): string {
  const text = formatFieldError(error);
  return error.file === undefined ? text : `${error.file}: ${text}`;
}

/** Where a value stands: `--max-pods`, or `maxPods` in a file. */
export interface Place {
  readonly field: string;
  readonly file?: string;
}

/** The fault of a value as the fault of its place. The value of a secret is left out. */
export function placeFault(setting: Setting, fault: ValueFault, place: Place): ConfigError {
  const shown = setting.isSecret === undefined && fault.badValue !== undefined;
  return {
    ...place,
    kind: fault.kind,
    field: `${place.field}${fault.path}`,
    ...(shown ? { badValue: fault.badValue } : {}),
    detail: fault.detail,
  };
}
