/** Validation error of the configuration. */
import type { FieldError, FieldErrorKind } from '#api/meta/field-error.ts';

/** `field` starts with the first of `settings`. */
export interface ConfigFieldError extends FieldError {
  /** Keys of the settings that the rule reads, the invalid one first. */
  readonly settings: readonly string[];
}

export interface FaultOptions {
  readonly kind?: FieldErrorKind;
  readonly badValue?: unknown;
  /** Path inside the value: `[0]`, `[memory.available]`. */
  readonly path?: string;
  /** Further settings that the rule reads. */
  readonly others?: readonly string[];
}

/** Creates the error of one setting; invalid unless `kind` says otherwise. */
export function errorOf(key: string, detail: string, options: FaultOptions = {}): ConfigFieldError {
  const { kind = 'FieldValueInvalid', badValue, path = '', others = [] } = options;
  return {
    kind,
    field: `${key}${path}`,
    ...(badValue === undefined ? {} : { badValue }),
    detail,
    settings: [key, ...others],
  };
}
