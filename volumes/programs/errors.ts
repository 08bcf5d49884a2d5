/** Errors of helper programs other than their own failure, and the message of the latter. */
import { codeOrName } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { ProgramResult } from './contract.ts';
import { packageOf } from './packages.ts';

/** A program that is not installed on the node. */
export class MissingProgramError extends VolumeSetupError {
  readonly program: string;

  constructor(program: string, options?: { cause?: unknown }) {
    super(`the program ${program} is not installed on this node: install ${packageOf(program)}`, options);
    this.name = 'MissingProgramError';
    this.program = program;
  }
}

/** A program that did not finish in time. It was killed; the kernel may still block its exit. */
export class ProgramTimeoutError extends VolumeSetupError {
  readonly program: string;

  constructor(program: string, timeoutMs: number) {
    super(`${program} did not finish within ${timeoutMs / 1000} s`);
    this.name = 'ProgramTimeoutError';
    this.program = program;
  }
}

/** An installed program that could not be started. */
export class ProgramStartError extends VolumeSetupError {
  readonly program: string;

  constructor(program: string, cause: Error) {
    super(`failed to start ${program}: ${codeOrName(cause)}`);
    // Not as the cause: the system's error contains the arguments.
    this.name = 'ProgramStartError';
    this.program = program;
  }
}

const MAX_REASON_LENGTH = 300;
/** Option values that may be secret, for programs that print their arguments. */
const SECRET =
  /\b((?:pass(?:word|wd|phrase)?|secret(?:key)?|key|token|cred(?:ential)?s?)\s*[=:]\s*)[^\s,;]+/giu;
/** All characters that are not printable, including line ends. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** Returns one printable line with likely secrets masked. */
export const tidy = (text: string): string =>
  text.replaceAll(SECRET, '$1…').replaceAll(UNPRINTABLE, ' ').trim();

function lastLines(text: string): string {
  const lines = text
    .slice(-16 * MAX_REASON_LENGTH)
    .split('\n')
    .map(tidy)
    .filter((line) => line !== '');
  let reason = '';
  for (const line of lines.toReversed()) {
    const longer = reason === '' ? line : `${line}; ${reason}`;
    if (longer.length > MAX_REASON_LENGTH && reason !== '') break;
    reason = longer;
  }
  return reason.length > MAX_REASON_LENGTH ? `${reason.slice(0, MAX_REASON_LENGTH)}…` : reason;
}

/** Returns a program's failure in one short line: its exit code and the end of its output, with likely
 *  secrets masked. */
export function failText(program: string, { code, stdout, stderr }: ProgramResult): string {
  const output = lastLines(stderr) || lastLines(stdout);
  const ended = `${program} exited with code ${code}`;
  return output === '' ? ended : `${ended}: ${output}`;
}
