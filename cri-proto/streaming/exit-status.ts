/** Parses the status that ends an exec or attach session: a JSON document on its error stream. Pure. */
import { isObject } from '#api/kit/object.ts';
import { RemoteCommandError } from './errors.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const NON_ZERO_EXIT = 'NonZeroExitCode';
const EXIT_CODE_CAUSE = 'ExitCode';

function parseStatus(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (isObject(value)) return value;
  throw new RemoteCommandError('InternalError', `the runtime ended the session with: ${text}`);
}

function readExitCode(status: JsonObject): number | undefined {
  const details = status['details'];
  const causes: unknown = isObject(details) ? details['causes'] : undefined;
  if (!Array.isArray(causes)) return undefined;
  const cause = causes.filter(isObject).find((entry) => entry['reason'] === EXIT_CODE_CAUSE);
  const message = cause?.['message'];
  return typeof message === 'string' && /^\d{1,3}$/.test(message) ? Number(message) : undefined;
}

/** Returns the exit code of the command: 0 to 255.
 *  @throws {RemoteCommandError} when it could not be run or the session ended without a status */
export function parseExitStatus(text: string): number {
  if (text === '') throw new RemoteCommandError('Disconnected', 'the session ended without an exit status');
  const status = parseStatus(text);
  if (status['status'] === 'Success') return 0;
  const reason = typeof status['reason'] === 'string' ? status['reason'] : 'InternalError';
  const message = typeof status['message'] === 'string' ? status['message'] : 'the command failed';
  const exitCode = reason === NON_ZERO_EXIT ? readExitCode(status) : undefined;
  if (exitCode === undefined) throw new RemoteCommandError(reason, message);
  return exitCode;
}
