/** Texts that make a regular expression work as hard as possible: for each repeatable part, a prefix that
 *  leads to it, repetitions, and an end at which it fails. Every kind of repeated matching shows in one of
 *  them. */
import { type PatternNode, readPattern } from './pattern-syntax.ts';

/** A text of any length: `head`, repeated `pump`, `tail`. */
export interface Attack {
  readonly head: string;
  readonly pump: string;
  readonly tail: string;
}

/** Returns the attack with that length, flattened: the engine joins pieces when they are first read. */
export function attackText({ head, pump, tail }: Attack, length: number): string {
  const text = head + pump.repeat(Math.ceil(length / pump.length)) + tail;
  return text.charCodeAt(text.length - 1) < 0 ? '' : text;
}

/** Printable characters, spaces, and some that programs forget. */
const CHARACTERS: readonly string[] = [
  ...Array.from({ length: 95 }, (_, index) => String.fromCharCode(index + 32)),
  '\n',
  '\r',
  '\t',
  '\0',
  '\u0001',
  '\u007f',
  'é',
  'µ',
  '\u2028',
  '\ud800',
  '一',
];
/** Repeats below this bound need no attack. */
const MANY = 16;

type Choose = (source: string) => readonly string[];

/** Returns one character of every kind that the pattern can distinguish. */
function alphabetOf(sets: readonly string[], choose: Choose): readonly string[] {
  const kinds = new Map<string, string>();
  for (const character of CHARACTERS) {
    const kind = sets.map((set) => (choose(set).includes(character) ? '1' : '0')).join('');
    // Prefers letters and digits.
    if (!kinds.has(kind) || /^[a-z0-9]$/.test(character)) kinds.set(kind, character);
  }
  return [...kinds.values()];
}

function setsOf(node: PatternNode): readonly string[] {
  switch (node.kind) {
    case 'set':
      return [node.source];
    case 'sequence':
      return node.parts.flatMap(setsOf);
    case 'choice':
      return node.options.flatMap(setsOf);
    case 'repeat':
    case 'group':
      return setsOf(node.part);
    case 'empty':
      return node.lookaround === undefined ? [] : setsOf(node.lookaround);
    case 'back':
      return [];
    default:
      return node satisfies never;
  }
}

interface Place {
  /** A text that leads to the repeated part. */
  readonly head: string;
  /** Texts of one repetition. */
  readonly rounds: readonly string[];
  /** Whether one repetition is more than a character of a set. */
  readonly isComposite: boolean;
}

class Writer {
  readonly #choose: Choose;
  readonly #groups = new Map<string, string>();
  readonly places: Place[] = [];

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  /** Returns some texts that the node matches, the plainest first; records where `head` leads to a repeat. */
  write(node: PatternNode, head: string): readonly string[] {
    switch (node.kind) {
      case 'set':
        return this.#choose(node.source).slice(0, 2);
      case 'sequence': {
        let texts: readonly string[] = [''];
        for (const part of node.parts) {
          const next = this.write(part, head + (texts[0] ?? ''));
          texts = texts.flatMap((text) => next.map((end) => text + end)).slice(0, 4);
        }
        return texts;
      }
      case 'choice':
        return node.options.flatMap((option) => this.write(option, head).slice(0, 2)).slice(0, 8);
      case 'group': {
        const texts = this.write(node.part, head);
        for (const name of node.names) this.#groups.set(name, texts[0] ?? '');
        return texts;
      }
      case 'repeat':
        return this.#repeat(node, head);
      case 'back':
        return [this.#groups.get(node.name) ?? ''];
      case 'empty':
        if (node.lookaround !== undefined) this.write(node.lookaround, head);
        return [''];
      default:
        return node satisfies never;
    }
  }

  #repeat(node: Extract<PatternNode, { kind: 'repeat' }>, head: string): readonly string[] {
    const rounds = this.write(node.part, head);
    if (node.max >= MANY) {
      const isComposite = withoutGroups(node.part).kind !== 'set';
      this.places.push({ head, rounds: rounds.filter((round) => round !== ''), isComposite });
    }
    const times = Math.max(node.min, node.max === 0 ? 0 : 1);
    const texts = rounds.map((round) => round.repeat(times));
    return node.min === 0 ? [...texts, ''] : texts;
  }
}

/** The characters of a set, usual ones first. */
function chooserFor(pattern: RegExp): Choose {
  const members = new Map<string, readonly string[]>();
  const flags = pattern.flags.replaceAll(/[gmyd]/g, '');
  return (source) => {
    let found = members.get(source);
    if (found === undefined) {
      const set = new RegExp(`^${source}$`, flags);
      found = CHARACTERS.filter((character) => set.test(character));
      const usual = found.filter((character) => /^[a-z0-9]$/.test(character));
      found = [...usual, ...found.filter((character) => !usual.includes(character))];
      members.set(source, found);
    }
    return found;
  };
}

function withoutGroups(node: PatternNode): PatternNode {
  if (node.kind === 'group') return withoutGroups(node.part);
  const [only, second] = node.kind === 'sequence' ? node.parts : [];
  return only !== undefined && second === undefined ? withoutGroups(only) : node;
}

/** Returns the texts on which the engine needs most stack: those that repeat a group, of which it saves more than a
 *  position for each repetition. */
export function stackAttacksOn(pattern: RegExp): readonly Attack[] {
  const choose = chooserFor(pattern);
  const tree = readPattern(pattern.source);
  const writer = new Writer(choose);
  writer.write(tree, '');
  if (!writer.places.some(({ isComposite }) => isComposite)) return [];
  // The shorter a repetition, the more of them.
  const pumps = new Set([
    ...writer.places.flatMap(({ rounds }) => rounds),
    ...pairs(alphabetOf(setsOf(tree), choose)),
  ]);
  const heads = new Set(['', ...writer.places.map(({ head }) => head)]);
  return [...heads].flatMap((head) => [...pumps].map((pump) => ({ head, pump, tail: '' })));
}

/** Returns attacks on the pattern; none if it never reads more than a few characters from its start. */
export function attacksOn(pattern: RegExp): readonly Attack[] {
  const choose = chooserFor(pattern);
  const tree = readPattern(pattern.source);
  const alphabet = alphabetOf(setsOf(tree), choose);
  const writer = new Writer(choose);
  const whole = writer.write(tree, '');
  const heads = new Set(['', ...writer.places.map(({ head }) => head)]);
  const rounds = [...writer.places.flatMap((place) => place.rounds), ...whole, ...heads];
  // If each line may start a match, each repetition is a line.
  const lines = pattern.multiline ? rounds.map((round) => `${round}\n`) : [];
  const pumps = new Set([...alphabet, ...rounds, ...lines, ...pairs(alphabet)]);
  pumps.delete('');
  const tails = new Set(['', '\u0001', '\n!']);
  return [...heads].flatMap((head) =>
    [...pumps].flatMap((pump) => [...tails].map((tail) => ({ head, pump, tail }))),
  );
}

/** With many kinds of characters, not all pairs. */
function pairs(alphabet: readonly string[]): readonly string[] {
  const some = alphabet.slice(0, 8);
  return some.flatMap((first) => some.filter((second) => second !== first).map((second) => first + second));
}
