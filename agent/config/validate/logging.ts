/** Validation of the logging settings. */
import type { AgentConfig } from '../gen/config.ts';
import { type ConfigFault, faultOf } from './fault.ts';

/** Returns the validation errors of the logging settings. */
export function validateLogging(config: AgentConfig): readonly ConfigFault[] {
  const { format, vmodule } = config.logging;
  const faults: ConfigFault[] = vmodule.flatMap(({ filePattern }, index) =>
    filePattern === '' || /[=,]/.test(filePattern)
      ? [
          faultOf('logging.vmodule', 'must be a file pattern without "=" and ","', {
            badValue: filePattern,
            path: `[${index}].filePattern`,
          }),
        ]
      : [],
  );
  if (vmodule.length > 0 && format !== 'text') {
    const detail = 'works with the text format only';
    const options = { kind: 'FieldValueForbidden', others: ['logging.format'] } as const;
    faults.push(faultOf('logging.vmodule', detail, options));
  }
  return faults;
}
