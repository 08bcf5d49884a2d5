/** Parses runtime errors for a command that failed to start into one line and the exit code that shells use.
 *  Pure. */

export interface ExecFailure {
  readonly message: string;
  /** 127: not found. 126: not executable. */
  readonly exitCode: 126 | 127;
}

const MISSING = [
  /exec: "([^"]+)": executable file not found/,
  /exec: "([^"]+)": (?:stat )?\S*: ?no such file or directory/,
  /exec: "([^"]+)": no such file or directory/,
  /executable file [`'"]([^`'"]+)[`'"] not found/,
  /exec (\S+): no such file or directory/,
];
const REFUSED = [
  /exec: "([^"]+)": (?:[^"]*: )?(permission denied|is a directory)/,
  /exec (\S+): (permission denied|exec format error)/,
  /exec: "([^"]+)": (exec format error)/,
];

/** @param text all error messages, outermost first @returns undefined for any other failure */
export function decideExecFailure(text: string): ExecFailure | undefined {
  for (const pattern of MISSING) {
    const name = pattern.exec(text)?.[1];
    if (name !== undefined)
      return { message: `${name}: executable not found in the container`, exitCode: 127 };
  }
  for (const pattern of REFUSED) {
    const [, name, reason] = pattern.exec(text) ?? [];
    if (name !== undefined) return { message: `${name}: ${reason}`, exitCode: 126 };
  }
  return undefined;
}
