/** Contract of the logger of a process. */
import type { Logger } from '../logger.ts';

export interface ProcessLogger extends Logger {
  /** For this logger, its children and relatives: 0 to 3 info, 4 and 5 debug, 6 and up trace. */
  setVerbosity(verbosity: number): void;
}
