/** Validation errors of the configuration, with the flag or the file and field of each. */
import { type FieldError, formatFieldError } from '#api/meta/field-error.ts';
import type { Setting } from './setting.ts';
import type { ValueError } from './values/parsed.ts';

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
export function placeError(setting: Setting, fieldError: ValueError, place: Place): ConfigError {
  const shown = setting.isSecret === undefined && fieldError.badValue !== undefined;
  return {
    ...place,
    kind: fieldError.kind,
    field: `${place.field}${fieldError.path}`,
    ...(shown ? { badValue: fieldError.badValue } : {}),
    detail: fieldError.detail,
  };
}
