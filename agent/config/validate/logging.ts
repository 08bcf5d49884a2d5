/** Validation of the logging settings. */
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFieldError, errorOf } from './fault.ts';

/** Returns the validation errors of the logging settings. */
export function validateLogging(config: AgentConfig): readonly ConfigFieldError[] {
  const { format, vmodule } = config.logging;
  const errors: ConfigFieldError[] = vmodule.flatMap(({ filePattern }, index) =>
    filePattern === '' || /[=,]/.test(filePattern)
      ? [
          errorOf('logging.vmodule', 'must be a file pattern without "=" and ","', {
            badValue: filePattern,
            path: `[${index}].filePattern`,
          }),
        ]
      : [],
  );
  if (vmodule.length > 0 && format !== 'text') {
    const detail = 'works with the text format only';
    const options = { kind: 'FieldValueForbidden', others: ['logging.format'] } as const;
    errors.push(errorOf('logging.vmodule', detail, options));
  }
  return errors;
}
