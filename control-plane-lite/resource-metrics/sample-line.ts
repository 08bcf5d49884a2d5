/** One line of the text format of metrics: name, labels, value, time. Pure.
 *  @see https://prometheus.io/docs/instrumenting/exposition_formats/ */

export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
  /** In ms since the epoch. */
  readonly atMs: number | undefined;
}

/** A line that is not in the format. */
export class SampleError extends Error {
  override readonly name = 'SampleError';
  readonly reason = 'InvalidSample';
  constructor(line: string, detail: string) {
    super(`sample ${JSON.stringify(line.slice(0, 100))} ${detail}`);
  }
}

const NO_LABELS: ReadonlyMap<string, string> = new Map();
/** A label and what follows it. */
const LABEL = /[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*([,}])/y;
const END = /[ \t]*\}/y;
const ESCAPES: Readonly<Record<string, string>> = { '\\\\': '\\', '\\"': '"', '\\n': '\n' };
const NUMBERS: Readonly<Record<string, number>> = {
  '+Inf': Number.POSITIVE_INFINITY,
  Inf: Number.POSITIVE_INFINITY,
  '-Inf': Number.NEGATIVE_INFINITY,
  NaN: Number.NaN,
};
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const TIME = /^-?\d{1,16}$/;

const unescape = (text: string): string =>
  text.includes('\\') ? text.replaceAll(/\\[\\"n]/g, (found) => ESCAPES[found] ?? found) : text;

/** The name in front of a line's labels or value; empty for comments and lines without one. */
export function sampleName(line: string): string {
  const end = line.search(/[{ \t]/);
  return end <= 0 || line.startsWith('#') ? '' : line.slice(0, end);
}

interface Labels {
  readonly labels: ReadonlyMap<string, string>;
  /** Where the value begins. */
  readonly end: number;
}

/** @param start behind the opening brace */
function readLabels(line: string, start: number): Labels {
  const labels = new Map<string, string>();
  let at = start;
  for (;;) {
    END.lastIndex = at;
    if (END.test(line)) return { labels, end: END.lastIndex };
    LABEL.lastIndex = at;
    const found = LABEL.exec(line);
    if (found === null) throw new SampleError(line, 'has labels that are not name="value"');
    const [, name = '', value = '', mark = ''] = found;
    labels.set(name, unescape(value));
    at = LABEL.lastIndex;
    if (mark === '}') return { labels, end: at };
  }
}

function readNumber(line: string, text: string): number {
  const named = Object.hasOwn(NUMBERS, text) ? NUMBERS[text] : undefined;
  if (named !== undefined) return named;
  if (!NUMBER.test(text)) throw new SampleError(line, 'has a value that is not a number');
  return Number(text);
}

/** Reads a line that has a name. @throws SampleError */
export function readSample(line: string, name: string): Sample {
  const behind = line.slice(name.length).trimStart();
  const offset = line.length - behind.length;
  const { labels, end } = behind.startsWith('{')
    ? readLabels(line, offset + 1)
    : { labels: NO_LABELS, end: offset };
  const [value = '', time, ...more] = line
    .slice(end)
    .trim()
    .split(/[ \t]+/);
  if (more.length > 0) throw new SampleError(line, 'has more than a value and a time');
  if (time !== undefined && !TIME.test(time)) throw new SampleError(line, 'has a time that is not a number');
  return {
    name,
    labels,
    value: readNumber(line, value),
    atMs: time === undefined ? undefined : Number(time),
  };
}
