/** What can go wrong with a helper program besides its own failure, and how its own failure is told. */
import { VolumeSetupError } from '../setup-error.ts';
import type { ProgramResult } from './contract.ts';
import { whatBrings } from './packages.ts';

/** A program that the node does not have. */
export class MissingProgramError extends VolumeSetupError {
  readonly program: string;

  constructor(program: string, options?: { cause?: unknown }) {
    super(`the program ${program} is not installed on this node: install ${whatBrings(program)}`, options);
    this.name = 'MissingProgramError';
    this.program = program;
  }
}

/** A program that did not end in time. It was killed; the kernel may still hold it. */
export class ProgramTimeoutError extends VolumeSetupError {
  readonly program: string;

  constructor(program: string, timeoutMs: number) {
    super(`${program} did not end within ${timeoutMs / 1000} s`);
    this.name = 'ProgramTimeoutError';
    this.program = program;
  }
}

/** A program that is there and could not be started. */
export class ProgramStartError extends VolumeSetupError {
  readonly program: string;

  constructor(program: string, cause: Error) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
    super(`${program} could not be started: ${code}`);
    // Not as the cause: the system's error carries the arguments.
    this.name = 'ProgramStartError';
    this.program = program;
  }
}

const LONGEST_REASON = 300;
/** Values of options that may be secret, where a program repeats what it was told. */
const SECRET =
  /\b((?:pass(?:word|wd|phrase)?|secret(?:key)?|key|token|cred(?:ential)?s?)\s*[=:]\s*)[^\s,;]+/giu;
/** Everything that is no printable character, line ends included. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** One printable line, without what looks secret. */
export const tidy = (text: string): string =>
  text.replaceAll(SECRET, '$1…').replaceAll(UNPRINTABLE, ' ').trim();

function lastLines(text: string): string {
  const lines = text
    .slice(-16 * LONGEST_REASON)
    .split('\n')
    .map(tidy)
    .filter((line) => line !== '');
  let reason = '';
  for (const line of lines.toReversed()) {
    const longer = reason === '' ? line : `${line}; ${reason}`;
    if (longer.length > LONGEST_REASON && reason !== '') break;
    reason = longer;
  }
  return reason.length > LONGEST_REASON ? `${reason.slice(0, LONGEST_REASON)}…` : reason;
}

/** A program's failure in one short line: its exit code and the end of what it said, without what looks secret. */
export function failText(program: string, { code, stdout, stderr }: ProgramResult): string {
  const said = lastLines(stderr) || lastLines(stdout);
  const ended = `${program} ended with exit code ${code}`;
  return said === '' ? ended : `${ended}: ${said}`;
}
