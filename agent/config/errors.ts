/** Validation errors of the configuration, with the flag or the file and field of each. */
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import type { Setting } from './setting.ts';
import type { ValueFault } from './values/parsed.ts';

/** `field` is a flag such as `--max-pods`, or the path of a field where `file` is given. */
export interface ConfigError extends FieldError {
  /** Path of the configuration file. */
  readonly file?: string;
}

/** `/etc/agent.yaml: maxPods: Invalid value: -1: must be at least 0`. */
export function formatConfigError(error: ConfigError): string {
  const text = formatFieldError(error);
  return error.file === undefined ? text : `${error.file}: ${text}`;
}

/** Location of a value: `--max-pods`, or `maxPods` in a file. */
export interface Place {
  readonly field: string;
  readonly file?: string;
}

/** Returns the error of a value with its location. Secret values are omitted. */
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
