/** Runs a driver on all hostile texts, and reports where its time grows faster than its input. */
import type { Driver } from './driver.ts';
import { findSteepGrowth, LONGEST, leastMs, nsPerCharacter, type Prepare } from './growth.ts';

/** Single special characters, and texts that programs have had problems with. */
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
/** Length at which the growth of slow work becomes visible. */
const MEDIUM = 131_072;
const FAIR_NS = 100;

const prepareFor =
  ({ run }: Driver, [head, tail]: readonly [string, string], pump: string): Prepare =>
  (length) => {
    const text = head + pump.repeat(Math.ceil(length / pump.length)) + tail;
    // Flattened, like external input.
    const whole = Buffer.from(text, 'utf16le').toString('utf16le');
    return () => {
      try {
        return run(whole);
      } catch {
        // Rejections are irrelevant here.
        return undefined;
      }
    };
  };

/** Reports whether a driver reads at least one of its texts to the end: one that rejects all of them at
 *  the first character tests nothing. */
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

/** Returns the texts on which a driver is too slow. */
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
  // The longest text is read only after a shorter one has finished in time.
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
