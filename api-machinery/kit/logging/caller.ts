/** Source location of a log call, for settings that show it. Costs a stack trace for each line. */

export interface Caller {
  /** `images/puller.ts:42`: the last directory, file and line. */
  readonly location: string;
  /** The calls that led to the line, innermost first. */
  readonly stack: string;
}

/** Frames of a stack trace; Node's default of ten is too short for asynchronous code. */
const FRAMES = 32;

/** Returns the location of a frame. A bundled program has few lines, so its column is the number. */
export function locationOf(frame: string): string {
  const place = frame.endsWith(')') ? frame.slice(frame.lastIndexOf('(') + 1, -1) : frame.split(' ').at(-1);
  const parts = (place ?? '').split(':');
  const [column = '', line = ''] = parts.splice(-2).toReversed();
  const [path = ''] = parts.join(':').split('?', 1);
  const [file = '', folder = ''] = path.split('/').toReversed();
  return `${folder}/${file}:${file.endsWith('.ts') ? line : column}`;
}

/** Returns the caller of a function.
 *  @param callee the function whose caller is returned */
export function callerOf(callee: (...args: never[]) => unknown): Caller {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, callee);
  Error.stackTraceLimit = limit;
  const frames = (holder.stack ?? '')
    .split('\n')
    .slice(1)
    .map((line) => line.trim());
  return { location: locationOf(frames[0] ?? ''), stack: frames.join('\n') };
}

/** Reports whether a location is the requested one, by file name and line: `puller.ts:42`. */
export const isAt = (location: string, requested: string): boolean =>
  requested !== '' && location.slice(location.lastIndexOf('/') + 1) === requested;
