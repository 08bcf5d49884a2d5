/** Runs a driver on all texts that may hurt it, and says where its time grows out of proportion. */
import type { Driver } from './driver.ts';
import { findSteepGrowth, LONGEST, leastMs, nsPerCharacter, type Prepare } from './growth.ts';

/** Special characters alone, and what programs have stumbled over. */
const PUMPS: readonly string[] = [
  ...Array.from('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~ \n\t0a'),
  '\r\n',
  'é',
  '😀',
  '\ud800',
  '\u2028',
  '\0',
  '9',
  'A',
  'a ',
  'a\n',
  '\\\\',
  '\\"',
  '""',
  '()',
  '[]',
  '{}',
  '[[',
  '((',
  '/a',
  'a=b,',
  '%41',
  'a:b\n',
  '"a",',
  "'a',",
  '<a>',
  '==',
];
const SHORT = 8192;
/** Where growth shows, of whatever is slow. */
const MEDIUM = 131_072;
const FAIR_NS = 100;

const prepareFor =
  ({ run }: Driver, [head, tail]: readonly [string, string], pump: string): Prepare =>
  (length) => {
    const text = head + pump.repeat(Math.ceil(length / pump.length)) + tail;
    // In one piece, as what comes from outside.
    const whole = Buffer.from(text, 'utf16le').toString('utf16le');
    return () => {
      try {
        return run(whole);
      } catch {
        // That most of them are refused is not the question here.
        return undefined;
      }
    };
  };

/** Whether a driver reads at least one of its texts to the end: one that refuses all of them at their first character
 *  tries nothing. */
export function readsSome({ run, frames = [], pumps = [] }: Driver): boolean {
  const whole = ['', ...frames.map(([head, tail]) => head + tail)];
  const texts = [
    ...whole,
    ...[...PUMPS, ...pumps].flatMap((pump) => [
      pump,
      ...frames.map(([head, tail]) => head + pump.repeat(2) + tail),
    ]),
  ];
  return texts.some((text) => {
    try {
      run(text);
      return text !== '';
    } catch {
      return false;
    }
  });
}

/** What a driver does not withstand. */
export function weaknessesOf(driver: Driver): readonly string[] {
  const { frames = [], pumps = [], fairNs = FAIR_NS, longest = LONGEST } = driver;
  const length = Math.min(SHORT, longest);
  const weak: string[] = [];
  let worst: { readonly prepare: Prepare; readonly what: string; readonly ms: number } | undefined;
  for (const frame of [['', ''], ...frames] as const) {
    for (const pump of [...PUMPS, ...pumps]) {
      const prepare = prepareFor(driver, [frame[0] ?? '', frame[1] ?? ''], pump);
      const what = JSON.stringify([frame[0]?.slice(0, 80), pump, frame[1]?.slice(0, 80)]);
      const work = prepare(length);
      const beganMs = performance.now();
      work();
      let ms = performance.now() - beganMs;
      if (nsPerCharacter({ length, ms }) > fairNs) {
        ms = leastMs(work);
        const steep =
          nsPerCharacter({ length, ms }) > fairNs
            ? findSteepGrowth(prepare, {
                from: 512,
                to: Math.min(longest, MEDIUM),
                fastNs: Math.max(200, fairNs),
              })
            : undefined;
        if (steep !== undefined) weak.push(`${what}: ${steep}`);
      }
      if (ms > (worst?.ms ?? 0)) worst = { prepare, what, ms };
    }
  }
  if (weak.length > 0 || worst === undefined || longest <= SHORT) return weak;
  // The longest text is read when one that is not so long has shown that it ends.
  const isFair = [longest / 16, longest].every(
    (long) => nsPerCharacter({ length: long, ms: leastMs(worst.prepare(long), 1) }) <= fairNs,
  );
  if (isFair) return [];
  const steep = findSteepGrowth(worst.prepare, {
    from: 4096,
    to: longest,
    fastNs: Math.max(200, fairNs),
  });
  return steep === undefined ? [] : [`${worst.what}: ${steep}`];
}
