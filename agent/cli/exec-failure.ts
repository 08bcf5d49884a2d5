/** What a runtime says of a command that could not be started, in one line and with the exit code that shells give.
 *  Pure. */

export interface ExecFailure {
  readonly message: string;
  /** 127: there is no such program. 126: it may not be run. */
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

/** @param text all that was said, outermost first @returns undefined for any other failure */
export function decideExecFailure(text: string): ExecFailure | undefined {
  for (const pattern of MISSING) {
    const name = pattern.exec(text)?.[1];
    if (name !== undefined) return { message: `${name}: no such program in the container`, exitCode: 127 };
  }
  for (const pattern of REFUSED) {
    const [, name, reason] = pattern.exec(text) ?? [];
    if (name !== undefined) return { message: `${name}: ${reason}`, exitCode: 126 };
  }
  return undefined;
}
