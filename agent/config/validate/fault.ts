/** What the rules about a configuration report. */
import type { FieldError, FieldErrorKind } from '#api/meta/field-error.ts';

/** `field` starts with the first of `settings`. */
export interface ConfigFault extends FieldError {
  /** Keys of the settings that the rule looks at, the one at fault first. */
  readonly settings: readonly string[];
}

export interface FaultOptions {
  readonly kind?: FieldErrorKind;
  readonly badValue?: unknown;
  /** Where inside the value: `[0]`, `[memory.available]`. */
  readonly path?: string;
  /** The other settings that the rule looks at. */
  readonly others?: readonly string[];
}

/** A fault of one setting; invalid unless `kind` says otherwise. */
export function faultOf(key: string, detail: string, options: FaultOptions = {}): ConfigFault {
  const { kind = 'FieldValueInvalid', badValue, path = '', others = [] } = options;
  return {
    kind,
    field: `${key}${path}`,
    ...(badValue === undefined ? {} : { badValue }),
    detail,
    settings: [key, ...others],
  };
}
