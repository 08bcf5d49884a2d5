/** Logger interface that every component gets: a pino logger, or anything of its shape.
 *  Fields first, then a fixed message in the past tense; errors go under `err`. */

export interface Logger {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  info(fields: object, message: string): void;
  debug(fields: object, message: string): void;
  trace(fields: object, message: string): void;
  child(fields: object): Logger;
}

/** A logger that discards everything, for tests. */
export const silentLogger: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  trace: () => undefined,
  child: () => silentLogger,
};
